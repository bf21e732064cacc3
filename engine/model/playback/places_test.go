package playback_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

func TestPlayer_puts_present_places_into_answers_and_requests(t *testing.T) {
	then := map[string]string{"workspace": "/home/ann/work", "run_dir": "/home/ann/work/runs", "platform": "linux (amd64)", "gone": "/srv"}
	now := map[string]string{"workspace": "/home/bob/p", "run_dir": "/var/runs", "platform": "darwin (arm64)"}
	for _, c := range []struct{ then, now string }{
		{"In /home/ann/work.", "In /home/bob/p."},
		{"In /home/ann/work/runs/id and /home/ann/work/a.txt", "In /var/runs/id and /home/bob/p/a.txt"},
		{"/home/ann/work", "/home/bob/p"},
		{"/home/ann/workshop /home/ann/work.bak /home/ann/work-2 x/home/ann/work", "/home/ann/workshop /home/ann/work.bak /home/ann/work-2 x/home/ann/work"},
		{"在/home/ann/work里，(/home/ann/work)", "在/home/bob/p里，(/home/bob/p)"},
		{"line\n/home/ann/work\tx", "line\n/home/bob/p\tx"},
		{"Operating system: linux (amd64)", "Operating system: darwin (arm64)"},
		{"see /srv/x", "see /srv/x"},
	} {
		t.Run(c.then, func(t *testing.T) {
			script := func(messagesapi.Request) messagesapi.Turn {
				input, err := json.Marshal(map[string]string{"file_path": c.then})
				if err != nil {
					t.Error(err)
				}
				return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(c.then), messagesapi.ToolUse("", "Read", string(input))}}
			}
			dir := t.TempDir()
			r := record(t, dir, provider(t, script), &playback.RecordOptions{Places: then})
			_ = said(t, r, request("s", user(text(c.then))))
			finish(t, r)
			p, err := playback.Open(dir, &playback.Options{Places: now})
			if err != nil {
				t.Fatal(err)
			}
			reply, err := ask(p, request("t", user(text(c.now))))
			if err != nil {
				t.Fatal(err)
			}
			var said struct{ Text string }
			var call struct {
				Input struct {
					Path string `json:"file_path"`
				}
			}
			if err := errors.Join(json.Unmarshal(reply.Content[0], &said), json.Unmarshal(reply.Content[1], &call)); err != nil {
				t.Fatal(err)
			}
			if said.Text != c.now || call.Input.Path != c.now {
				t.Errorf("the answer says %q and calls with %q, want %q", said.Text, call.Input.Path, c.now)
			}
		})
	}
}

func TestPlayer_knows_an_agents_folder_by_the_request(t *testing.T) {
	in := func(session, dir string) model.Request {
		q := request(session, user(text("Working directory: "+dir)))
		q.Meta.Dir = dir
		return q
	}
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Places: map[string]string{"workspace": "/w"}})
	_ = said(t, r, in("s", "/tmp/copy-17/w"))
	finish(t, r)
	p, err := playback.Open(dir, &playback.Options{Places: map[string]string{"workspace": "/w"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, p, in("t", "/tmp/copy-4711/w")); got != "You said: Working directory: /tmp/copy-4711/w" {
		t.Errorf("answer %q", got)
	}
}

func TestPlayer_shows_a_difference_in_present_places(t *testing.T) {
	dir := t.TempDir()
	r := record(t, dir, provider(t, echo), &playback.RecordOptions{Places: map[string]string{"workspace": "/ann/w"}})
	_ = said(t, r, request("s", user(text("/ann/w\none"))))
	finish(t, r)
	p, err := playback.Open(dir, &playback.Options{Places: map[string]string{"workspace": "/bob/w"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(p, request("t", user(text("/bob/w\ntwo"))))
	var e *playback.Error
	if !errors.As(err, &e) || !strings.Contains(e.Diff, " /bob/w\n-one\n+two") {
		t.Errorf("error %v", err)
	}
}
