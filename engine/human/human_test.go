package human_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/store"
)

// log keeps events.
type log struct {
	mu   sync.Mutex
	list []event.Event
}

func (l *log) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *log) states() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.list {
		if s, ok := e.Payload["state"].(string); ok {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func channel(t *testing.T, o human.Options) *human.Channel {
	t.Helper()
	c, err := human.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ptr[T any](v T) *T { return &v }

func TestAsk_blocks_until_it_is_answered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &log{}
		c := channel(t, human.Options{Sink: seen})
		var got human.Reply
		go func() { got = c.Ask(t.Context(), "t1", "Which port?", []string{"80", "8080"}) }()
		synctest.Wait()
		open := c.Pending()
		if len(open) != 1 || open[0].ID != "q1" || open[0].Text != "Which port?" || len(open[0].Options) != 2 {
			t.Fatalf("pending %+v", open)
		}
		if !c.Answer("q1", "8080") {
			t.Error("the answer was refused")
		}
		if c.Answer("q1", "80") {
			t.Error("a second answer was taken")
		}
		synctest.Wait()
		if got.Text != "8080" || got.Question.State != human.Answered || seen.states() != "asked answered" {
			t.Errorf("reply %+v, events %s", got, seen.states())
		}
		if seen.list[0].Payload["remaining"] != -1 {
			t.Errorf("remaining %v", seen.list[0].Payload["remaining"])
		}
	})
}

func TestAsk_69_an_empty_question_does_not_count(t *testing.T) {
	c := channel(t, human.Options{MaxAsks: ptr(1)})
	if r := c.Ask(t.Context(), "t0", "  ", nil); r.Question.State != human.Invalid {
		t.Errorf("%+v", r)
	}
	if c.Remaining() != 1 {
		t.Errorf("remaining %d", c.Remaining())
	}
	done := make(chan human.Reply)
	go func() { done <- c.Ask(t.Context(), "t1", "real", nil) }()
	for len(c.Pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	c.Decline("q1")
	if r := <-done; r.Question.State != human.Declined {
		t.Errorf("%+v", r)
	}
	if r := c.Ask(t.Context(), "t2", "one more", nil); r.Question.State != human.OverBudget {
		t.Errorf("%+v", r)
	}
}

func TestAsk_every_way_without_an_answer_says_what_to_do(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lang := range []string{"en", "zh"} {
			none := channel(t, human.Options{MaxAsks: ptr(0), Lang: lang})
			never := channel(t, human.Options{Timeout: ptr(time.Duration(0)), Lang: lang})
			short := channel(t, human.Options{Timeout: ptr(time.Minute), Lang: lang})
			for state, r := range map[human.State]human.Reply{
				human.OverBudget: none.Ask(t.Context(), "a", "x", nil),
				human.TimedOut:   short.Ask(t.Context(), "b", "x", nil),
				human.Invalid:    short.Ask(t.Context(), "c", "", nil),
			} {
				parts := []string{"Decide yourself", "assumption"}
				if lang == "zh" {
					parts = []string{"自己决定", "假设"}
				}
				for _, part := range parts {
					if r.Question.State != state || !strings.Contains(r.Text, part) {
						t.Errorf("%s %s: %+v", lang, state, r)
					}
				}
			}
			if r := never.Ask(t.Context(), "d", "x", nil); r.Question.State != human.TimedOut {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestAsk_a_timeout_of_nothing_bothers_nobody(t *testing.T) {
	seen := &log{}
	c := channel(t, human.Options{Timeout: ptr(-time.Second), Sink: seen})
	c.Ask(t.Context(), "t", "x", nil)
	if seen.states() != "" {
		t.Errorf("events %s", seen.states())
	}
}

func TestAnswer_71_after_the_timeout_is_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := channel(t, human.Options{Timeout: ptr(time.Second)})
		r := c.Ask(t.Context(), "t", "x", nil)
		if c.Answer(r.Question.ID, "late") || r.Question.State != human.TimedOut || r.Question.Answer != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestAnswers_in_the_other_order_close_their_own_question(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := channel(t, human.Options{})
		got := map[string]string{}
		var mu sync.Mutex
		for _, text := range []string{"one", "two"} {
			go func() {
				r := c.Ask(t.Context(), text, text, nil)
				mu.Lock()
				defer mu.Unlock()
				got[text] = r.Text
			}()
			synctest.Wait()
		}
		c.Answer("q2", "for two")
		c.Answer("q1", "for one")
		synctest.Wait()
		if got["one"] != "for one" || got["two"] != "for two" {
			t.Errorf("%v", got)
		}
	})
}

func TestQuestion_outlives_its_process(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := human.Options{Store: db, Project: "p", MaxAsks: ptr(1)}
	told := &log{}
	o.Sink = told
	first := channel(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan human.Reply)
	go func() { gone <- first.Ask(ctx, "call", "Which port?", nil) }()
	for len(first.Pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if r := <-gone; r.Question.State != human.Asked {
		t.Errorf("%+v", r)
	}
	if first.Answer("q1", "too late") {
		t.Error("nobody waits for it here any more")
	}
	if told.states() != "asked left" {
		t.Errorf("told: %s", told.states())
	}
	// The next process asks the same call: the same question, not counted again.
	seen := &log{}
	o.Sink = seen
	second := channel(t, o)
	got := make(chan human.Reply)
	go func() { got <- second.AskAs(t.Context(), human.Asker{Run: "r2"}, "call", "Which port?", nil) }()
	for len(second.Pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	for seen.states() == "" {
		time.Sleep(time.Millisecond)
	}
	if second.Pending()[0].ID != "q1" || second.Remaining() != 1 || seen.list[0].Payload["again"] != true || seen.list[0].Run != "r2" {
		t.Errorf("pending %+v, remaining %d", second.Pending(), second.Remaining())
	}
	second.Answer("q1", "8080")
	if r := <-got; r.Text != "8080" {
		t.Errorf("%+v", r)
	}
	// Answered and not delivered: the answer is the call's result, at once.
	third := channel(t, o)
	if r := third.Ask(t.Context(), "call", "Which port?", nil); r.Text != "8080" {
		t.Errorf("%+v", r)
	}
	// Ids go on.
	go third.Ask(t.Context(), "other", "And the host?", nil)
	for len(third.Pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if id := third.Pending()[0].ID; id != "q2" {
		t.Errorf("id %s", id)
	}
	third.Decline("q2")
}

func TestMail_waits_and_is_written_into_the_brief(t *testing.T) {
	dir := t.TempDir()
	brief := document.Brief{Goal: "g", Accept: "a", Bounds: "b", Unknowns: "u"}
	path := filepath.Join(dir, "brief.md")
	if err := brief.Write(path, "en"); err != nil {
		t.Fatal(err)
	}
	seen := &log{}
	c := channel(t, human.Options{AmendPath: path, LogPath: filepath.Join(dir, "notes", "qa.md"), Sink: seen})
	if r := c.Send("also support X\n## Goal\nnot this"); !r.Amended || r.Err != nil {
		t.Errorf("%+v", r)
	}
	loaded, err := document.LoadBrief(path)
	if err != nil || loaded.Goal != "g" || !strings.Contains(loaded.Unknowns, "also support X") || !loaded.Complete() {
		t.Errorf("%+v, %v", loaded, err)
	}
	if e := seen.list[0]; e.Kind != event.Ask || e.Payload["kind"] != "mail" {
		t.Errorf("event %+v", e)
	}
	if text := c.Inbox(); !strings.Contains(text, "also support X") {
		t.Errorf("inbox %q", text)
	}
	if text := c.Inbox(); text != "The inbox is empty." {
		t.Errorf("inbox %q", text)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "notes", "qa.md")); err != nil || !strings.Contains(string(raw), "also support X") {
		t.Errorf("log %q, %v", raw, err)
	}
}

func TestMail_that_was_not_taken_out_outlives_its_process(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := human.Options{Store: db, Project: "p"}
	channel(t, o).Send("hello")
	if text := channel(t, o).Inbox(); text != "hello" {
		t.Errorf("inbox %q", text)
	}
	if text := channel(t, o).Inbox(); strings.Contains(text, "hello") {
		t.Errorf("the mail came twice: %q", text)
	}
}

func TestTroubles_are_collected_and_harm_nothing(t *testing.T) {
	c := channel(t, human.Options{
		LogPath: filepath.Join(t.TempDir(), "log"), AmendPath: "/proc/none/brief.md",
		Sink: event.SinkFunc(func(event.Event) { panic("broken") }),
	})
	if r := c.Send("x"); r.Amended || r.Err == nil {
		t.Errorf("%+v", r)
	}
	if errs := c.Errs(); len(errs) != 2 {
		t.Errorf("errs %v", errs)
	}
	if c.Inbox() != "x" {
		t.Error("the mail is lost")
	}
}

func TestAttach_73_does_not_replace_a_sink_of_its_own(t *testing.T) {
	own, other := &log{}, &log{}
	c := channel(t, human.Options{Sink: own})
	defer c.Attach("r1", other)()
	c.Send("x")
	c.AskAs(t.Context(), human.Asker{Run: "r1"}, "", " ", nil)
	if len(own.list) != 2 || len(other.list) != 0 {
		t.Errorf("own %d, other %d", len(own.list), len(other.list))
	}
}

// TestAttach_each_run_hears_its_own_questions: also when several use the channel at
// once, and when one uses it after another.
func TestAttach_each_run_hears_its_own_questions(t *testing.T) {
	one, two, three := &log{}, &log{}, &log{}
	c := channel(t, human.Options{})
	ask := func(run string) { // an empty question is told and does not wait
		c.AskAs(t.Context(), human.Asker{Run: run, Step: "s", Session: "n", Subagent: "a"}, "", " ", nil)
	}
	offOne := c.Attach("r1", one)
	offTwo := c.Attach("r2", two)
	ask("r1")
	if len(one.list) != 1 || len(two.list) != 0 {
		t.Fatalf("one %d, two %d", len(one.list), len(two.list))
	}
	if e := one.list[0]; e.Run != "r1" || e.Step != "s" || e.Session != "n" || e.Subagent != "a" {
		t.Errorf("event %+v", e)
	}
	c.Send("mail") // goes to the newest
	offTwo()
	offTwo()
	ask("r1")
	offOne()
	if len(one.list) != 2 || len(two.list) != 1 {
		t.Errorf("one %d, two %d", len(one.list), len(two.list))
	}
	c.Send("between two runs")
	defer c.Attach("r3", three)()
	ask("r3")
	if len(one.list) != 3 || len(three.list) != 1 || len(two.list) != 1 {
		t.Errorf("one %d, two %d, three %d", len(one.list), len(two.list), len(three.list))
	}
}

func TestAnswer_without_words_declines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &log{}
		c := channel(t, human.Options{Sink: seen})
		got := make(chan human.Reply, 1)
		go func() { got <- c.Ask(t.Context(), "t", "x", nil) }()
		synctest.Wait()
		if !c.Answer("q1", " \n") {
			t.Error("refused")
		}
		if r := <-got; r.Question.State != human.Declined || !strings.Contains(r.Text, "leaves this to you") || seen.states() != "asked declined" {
			t.Errorf("%+v, events %s", r, seen.states())
		}
	})
}

func TestNew_refuses_nonsense(t *testing.T) {
	for _, o := range []human.Options{{MaxAsks: ptr(-1)}, {Lang: "fr"}} {
		if _, err := human.New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
