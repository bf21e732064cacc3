package playback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// grown is a conversation after so many answers of echo.
func grown(session string, answers int) model.Request {
	messages := []model.Message{user(text("turn 0"))}
	for i := range answers {
		n := string(rune('0' + i))
		messages = append(messages, assistant(text("You said: turn "+n)), user(text("turn "+string(rune('1'+i)))))
	}
	return request(session, messages...)
}

func TestRecorder_keeps_the_key_out_and_the_files_to_the_user(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "rec")
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Label: "fix.lua", Settings: map[string]string{"model": "m"}})
	_ = said(t, r, request("s", user(text("Hello"))))
	finish(t, r)
	if got, want := files(t, dir), []string{"0001-step-agent.jsonl", "recording.json"}; !cmp.Equal(got, want) {
		t.Errorf("files %v", got)
	}
	for _, name := range append(files(t, dir), ".lock", ".") {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has the mode %v", name, mode)
		}
		if !info.IsDir() && strings.Contains(read(t, dir, name), "test-key") {
			t.Errorf("%s holds the key", name)
		}
	}
	p := open(t, dir)
	if p.Label() != "fix.lua" || !cmp.Equal(p.Settings(), map[string]string{"model": "m"}) {
		t.Errorf("label %q, settings %v", p.Label(), p.Settings())
	}
}

func TestRecorder_writes_what_was_sent(t *testing.T) {
	sent := request("s", user(json.RawMessage(`{"type":"text","text":"\u003cb> é 😀","cache_control":{"type":"ephemeral"}}`)))
	dir := recording(t, echo, sent)
	var line struct {
		Head     json.RawMessage
		Messages []json.RawMessage
	}
	lines := strings.Split(read(t, dir, "0001-step-agent.jsonl"), "\n")
	if err := json.Unmarshal([]byte(lines[1]), &line); err != nil {
		t.Fatal(err)
	}
	body := strings.TrimSuffix(string(line.Head), "}") + `,"messages":[` + string(line.Messages[0]) + "]}"
	if want := string(sent.Body(true)); body != want {
		t.Errorf("recorded %s\nsent     %s", body, want)
	}
}

func TestRecorder_writes_of_a_request_what_is_new_in_it(t *testing.T) {
	long := text(strings.Repeat("long ", 4000))
	messages := []model.Message{user(long)}
	var requests []model.Request
	for range 20 {
		requests = append(requests, request("s", messages...))
		messages = append(messages, assistant(text("yes")), user(text("go on")))
	}
	dir := recording(t, func(messagesapi.Request) messagesapi.Turn { return say("yes") }, requests...)
	if n := len(read(t, dir, "0001-step-agent.jsonl")); n > 2*len(long) {
		t.Errorf("20 exchanges with one long message have %d bytes, the message %d", n, len(long))
	}
	p := open(t, dir)
	for i, q := range requests {
		if got := said(t, p, q); got != "yes" {
			t.Errorf("request %d: %q", i, got)
		}
	}
}

func say(s string) messagesapi.Turn {
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(s)}}
}

func TestRecorder_has_the_exchange_on_disk_before_its_end_is_told(t *testing.T) {
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	stream, err := r.Stream(context.Background(), request("s", user(text("one"))))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, dir, "0001-step-agent.jsonl"), "You said: one") {
		t.Error("the answer is not on disk")
	}
}

func TestRecord_refuses_a_folder_that_is_not_its_own(t *testing.T) {
	o := playback.RecordOptions{Label: "fix.lua", Places: map[string]string{"workspace": "/w"}}
	base := t.TempDir()
	made := func(name string, finished bool) string {
		dir := filepath.Join(base, name)
		r := record(t, dir, provider(t, echo), &o)
		_ = said(t, r, grown("s", 0))
		if finished {
			if err := r.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		_ = r.Close()
		return dir
	}
	foreign := filepath.Join(base, "foreign")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(foreign, "thesis.txt"), "x")
	file := filepath.Join(base, "file")
	write(t, file, "x")
	newer := made("newer", false)
	write(t, filepath.Join(newer, "recording.json"), `{"format":2}`)
	torn := made("torn", false)
	write(t, filepath.Join(torn, "recording.json"), `{"format":`)
	unfinished := made("unfinished", false)
	fresh, other, moved := o, o, o
	fresh.Fresh, other.Label, moved.Places = true, "other.lua", map[string]string{"workspace": "/elsewhere"}
	for _, c := range []struct {
		name, dir string
		o         playback.RecordOptions
		is        error
		text      string
	}{
		{"something else", foreign, o, playback.ErrNotEmpty, "thesis.txt"},
		{"a file", file, o, nil, "not a directory"},
		{"a run that came to its end", made("finished", true), o, playback.ErrNotEmpty, "fix.lua, "},
		{"of another script", unfinished, other, playback.ErrNotEmpty, "of another run"},
		{"of another folder", unfinished, moved, playback.ErrNotEmpty, "of another run"},
		{"a run that begins anew", unfinished, fresh, playback.ErrNotEmpty, "begins anew"},
		{"of a newer program", newer, o, nil, "format 2"},
		{"damaged", torn, o, playback.ErrDamaged, "recording.json"},
	} {
		before := read(t, unfinished, "recording.json")
		_, err := playback.Record(c.dir, provider(t, echo), &c.o)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), c.dir) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if read(t, unfinished, "recording.json") != before {
			t.Errorf("%s: the refused folder was changed", c.name)
		}
		if _, err := os.Stat(filepath.Join(foreign, ".lock")); err == nil {
			t.Errorf("%s: a file was made in a folder that is not ours", c.name)
		}
	}
}

func TestRecord_refuses_a_folder_that_is_being_recorded_into(t *testing.T) {
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	if _, err := playback.Record(dir, provider(t, echo), nil); !errors.Is(err, playback.ErrInUse) {
		t.Errorf("error %v", err)
	}
	_ = r.Close()
	record(t, dir, provider(t, echo), nil)
}

func TestRecord_into_a_folder_where_nothing_was_asked_begins_anew(t *testing.T) {
	dir := t.TempDir()
	_ = record(t, dir, provider(t, echo), &playback.RecordOptions{Label: "a"}).Close()
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Label: "b", Fresh: true})
	_ = said(t, r, grown("s", 0))
	finish(t, r)
	if label := open(t, dir).Label(); label != "b" {
		t.Errorf("label %q", label)
	}
}

// cutOff records two exchanges as a process does that is killed while it writes the
// third, and gives the folder.
func cutOff(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	for i := range 3 {
		_ = said(t, r, grown("s", i))
	}
	_ = r.Close()
	path := filepath.Join(dir, "0001-step-agent.jsonl")
	whole := read(t, path)
	write(t, path, whole[:len(whole)-40])
	write(t, filepath.Join(dir, "0002-step-worker.jsonl"), `{"conversation":2,"proc`)
	return dir
}

func TestPlayer_plays_what_a_killed_process_left(t *testing.T) {
	p := open(t, cutOff(t))
	for i := range 2 {
		_ = said(t, p, grown("t", i))
	}
	var e *playback.Error
	if _, err := ask(p, grown("t", 2)); !errors.As(err, &e) || e.Kind != playback.Ends || !strings.Contains(err.Error(), "how far it goes") {
		t.Errorf("error %v", err)
	}
}

// noted is a conversation as a process tells it that continues it after a cut: its
// last message has a note, and a result is an error.
func noted(q model.Request) model.Request {
	q.Messages = append([]model.Message(nil), q.Messages...)
	last := &q.Messages[len(q.Messages)-1]
	last.Content = append(append([]json.RawMessage(nil), last.Content...), text("You were cut off. Go on."))
	return q
}

func TestRecord_continues_a_conversation_that_was_cut_off(t *testing.T) {
	dir := cutOff(t)
	r := record(t, dir, provider(t, echo), nil)
	third := noted(grown("s", 2))
	if got := said(t, r, third); got != "You said: turn 2\nYou were cut off. Go on." {
		t.Errorf("answer %q", got)
	}
	fourth := third
	fourth.Messages = append(third.Messages[:len(third.Messages):len(third.Messages)], assistant(text("right")), user(text("turn 3")))
	_ = said(t, r, fourth)
	finish(t, r)
	if got, want := files(t, dir), []string{"0001-step-agent.jsonl", "recording.json"}; !cmp.Equal(got, want) {
		t.Errorf("files %v", got)
	}

	// A playback that is not cut off has no note.
	p := open(t, dir)
	for i := range 3 {
		_ = said(t, p, grown("t", i))
	}
	plain := grown("t", 2)
	plain.Messages = append(plain.Messages, assistant(text("right")), user(text("turn 3")))
	if got := said(t, p, plain); got != "You said: turn 3" {
		t.Errorf("after the cut: %q", got)
	}
	if rest := p.Rest(); rest.Exchanges != 0 {
		t.Errorf("rest %+v", rest)
	}

	// What comes before the note has to be the same still.
	p = open(t, dir)
	for i := range 2 {
		_ = said(t, p, grown("t", i))
	}
	changed := grown("t", 2)
	changed.Messages[len(changed.Messages)-1] = user(text("turn two"))
	if _, err := ask(p, changed); err == nil {
		t.Error("a changed prompt passes before a cut")
	}
}

func TestPlayer_leaves_out_an_answer_that_its_process_did_not_outlive(t *testing.T) {
	dir := t.TempDir()
	ask2 := func(answer string, finished bool) {
		r := record(t, dir, provider(t, func(messagesapi.Request) messagesapi.Turn { return say(answer) }), nil)
		_ = said(t, r, grown("s", 0))
		if finished {
			finish(t, r)
		}
		_ = r.Close()
	}
	ask2("lost", false)
	ask2("kept", true)
	p := open(t, dir)
	if got := said(t, p, grown("t", 0)); got != "kept" {
		t.Errorf("answer %q", got)
	}
	if rest := p.Rest(); rest.Exchanges != 0 {
		t.Errorf("rest %+v", rest)
	}
}

func TestRecorder_an_exchange_that_its_caller_ended_is_not_played(t *testing.T) {
	started := make(chan struct{}, 1)
	script := func(r messagesapi.Request) messagesapi.Turn {
		if r.Prompt() == "stall" {
			started <- struct{}{}
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("half")}, Faults: []messagesapi.Fault{{Kind: messagesapi.Stall, At: 300}}}
		}
		return echo(r)
	}
	dir := t.TempDir()
	r := record(t, dir, provider(t, script), nil)
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := r.Stream(ctx, request("s", user(text("stall"))))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	_ = stream.Close()
	closed, err := r.Stream(context.Background(), request("s", user(text("never read"))))
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	_ = said(t, r, request("s", user(text("one"))))
	finish(t, r)
	p := open(t, dir)
	if got := said(t, p, request("t", user(text("one")))); got != "You said: one" {
		t.Errorf("answer %q", got)
	}
	_, err = ask(open(t, dir), request("t", user(text("two"))))
	if err == nil || !strings.Contains(err.Error(), "somebody stopped the agent just before") {
		t.Errorf("error %v", err)
	}
}

func TestRecorder_does_not_disturb_the_run_when_it_cannot_write(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	var warned []string
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Warn: func(text string) { warned = append(warned, text) }})
	_ = said(t, r, grown("s", 0))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if got := said(t, r, grown("s", i)); !strings.HasPrefix(got, "You said") {
			t.Errorf("answer %q", got)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "cannot be written") {
		t.Errorf("warned %q", warned)
	}
	if err := r.Finish(); err != nil {
		t.Errorf("Finish: %v", err)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("Close: %v", err)
	}
}

func TestRecorder_warns_of_a_session_from_before(t *testing.T) {
	var warned []string
	r := record(t, t.TempDir(), provider(t, echo), &playback.RecordOptions{Warn: func(text string) { warned = append(warned, text) }})
	first, err := ask(r, grown("s", 0))
	if err != nil {
		t.Fatal(err)
	}
	fork := grown("s2", 1)
	fork.Previous = first.ID // a copy of what is recorded
	_ = said(t, r, fork)
	if len(warned) > 0 {
		t.Errorf("warned %q", warned)
	}
	old := grown("s3", 1)
	old.Previous = "msg_before"
	_ = said(t, r, old)
	if len(warned) != 1 || !strings.Contains(warned[0], "step step continues a session from before") {
		t.Errorf("warned %q", warned)
	}
}

func TestRecorder_passes_on_what_it_is_asked_after_Close(t *testing.T) {
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), nil)
	_ = said(t, r, grown("s", 0))
	if err := errors.Join(r.Finish(), r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if got := said(t, r, grown("s2", 0)); got != "You said: turn 0" {
		t.Errorf("answer %q", got)
	}
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("files %v", got)
	}
}

func TestOpen_says_what_is_wrong_with_a_folder(t *testing.T) {
	good := recording(t, echo, grown("s", 0), grown("s", 1))
	conversation := read(t, good, "0001-step-agent.jsonl")
	index := read(t, good, "recording.json")
	lines := strings.SplitAfter(conversation, "\n")
	for _, c := range []struct {
		name  string
		files map[string]string // nil: the folder is not there
		is    error
		text  string
	}{
		{"missing", nil, playback.ErrNoRecording, "no such file"},
		{"empty", map[string]string{}, playback.ErrNoRecording, "recording.json"},
		{"another folder", map[string]string{"notes.txt": "x"}, playback.ErrNoRecording, "recording.json"},
		{"index alone", map[string]string{"recording.json": index}, playback.ErrNoRecording, "no exchange"},
		{"nothing answered", map[string]string{"recording.json": index, "0001-step-agent.jsonl": lines[0]}, playback.ErrNoRecording, "no exchange"},
		{"damaged index", map[string]string{"recording.json": index[:20]}, playback.ErrDamaged, "recording.json"},
		{"newer", map[string]string{"recording.json": `{"format":7}`}, nil, "format 7"},
		{"damaged line", map[string]string{"recording.json": index, "0001-step-agent.jsonl": lines[0] + lines[1][:90] + "\n" + lines[2]}, playback.ErrDamaged, "0001-step-agent.jsonl, line 2"},
		{"damaged header", map[string]string{"recording.json": index, "0001-step-agent.jsonl": "[]\n" + lines[1]}, playback.ErrDamaged, "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rec")
			if c.files != nil {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for name, content := range c.files {
				write(t, filepath.Join(dir, name), content)
			}
			_, err := playback.Open(dir, nil)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPlayer_a_line_that_is_gone_is_an_error_not_a_guess(t *testing.T) {
	dir := recording(t, echo, grown("s", 0), grown("s", 1), grown("s", 2))
	path := filepath.Join(dir, "0001-step-agent.jsonl")
	lines := strings.SplitAfter(read(t, path), "\n")
	write(t, path, lines[0]+lines[1]+lines[3])
	p, err := playback.Open(dir, nil)
	for i := 0; err == nil && i < 3; i++ {
		_, err = ask(p, grown("t", i))
	}
	if err == nil {
		t.Error("nobody noticed")
	}
}

func TestPlayer_needs_no_right_to_write(t *testing.T) {
	dir := recording(t, echo, grown("s", 0))
	for _, name := range files(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if got := said(t, open(t, dir), grown("t", 0)); got != "You said: turn 0" {
		t.Errorf("answer %q", got)
	}
	if os.Geteuid() == 0 {
		return // who may write everywhere
	}
	if _, err := playback.Record(dir, provider(t, echo), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

func TestRecorder_notes_when_and_how_long(t *testing.T) {
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Now: now})
	_ = said(t, r, grown("s", 0))
	finish(t, r)
	if got := read(t, dir, "0001-step-agent.jsonl"); !strings.Contains(got, `"time":"2026-01-02T03:04:07Z","took_s":1,`) {
		t.Errorf("recorded %s", got)
	}
}

func TestOpen_takes_no_harm_from_broken_files(t *testing.T) {
	good := recording(t, echo, grown("s", 0), grown("s", 1), sub("s", "a1", "x"))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		dir := t.TempDir()
		broken := files(t, good)[i%3]
		for _, name := range files(t, good) {
			content := []byte(read(t, good, name))
			if name == broken {
				switch at := random.IntN(len(content)); i % 4 {
				case 0:
					content[at] = byte(random.IntN(256))
				case 1:
					content = content[:at]
				case 2:
					content = append(content[:at], content[min(at+random.IntN(40), len(content)):]...)
				default:
					content = bytes.Replace(content, []byte(`:1,`), fmt.Appendf(nil, ":%d,", random.IntN(9)-4), 1+random.IntN(3))
				}
			}
			write(t, filepath.Join(dir, name), string(content))
		}
		p, err := playback.Open(dir, nil)
		if err != nil {
			continue
		}
		for _, q := range []model.Request{grown("t", 0), grown("t", 1), sub("t", "a1", "x")} {
			_, _ = ask(p, q) // an error, or an answer; no more is asked of it
		}
		_ = p.Rest()
		if r, err := playback.Record(dir, atOnce{}, nil); err == nil {
			_, _ = ask(r, grown("u", 0))
			_ = r.Close()
		}
	}
}
