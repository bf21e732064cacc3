package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

func seq(entries []transcript.Entry, end error) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if end != nil {
			yield(transcript.Entry{}, end)
		}
	}
}

func spends(input, read, wrote int) string {
	return fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":9}}`,
		input, input, read, wrote)
}

func TestSummarize_tells_what_a_transcript_is(t *testing.T) {
	const clock = `,"timestamp":"2026-01-02T03:04:%02dZ"`
	entries := chain(t,
		`"type":"queue-operation"`,
		says("hint")+`,"isMeta":true`,
		says("  Build\n the thing ")+fmt.Sprintf(clock, 5),
		strings.Replace(runs("t0", "make"), `"role"`, `"id":"m","role"`, 1),
		strings.Replace(runs("t1", "make"), `"role"`, `"id":"m","role"`, 1),
		gives("t0", "x"), gives("t1", "y"), spends(4, 1000, 50)+fmt.Sprintf(clock, 7),
		says("And more"), replies("API Error")+`,"isApiErrorMessage":true`+fmt.Sprintf(clock, 9))
	got, err := transcript.Summarize(seq(entries, nil))
	at := func(sec int) time.Time { return time.Date(2026, 1, 2, 3, 4, sec, 0, time.UTC) }
	want := transcript.Summary{Title: "Build the thing", Model: "claude-x", First: at(5), Last: at(9), Entries: 10, Prompts: 2, Turns: 2, ToolCalls: 2, Context: 1054}
	if err != nil || got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestSummarize_titles(t *testing.T) {
	long := strings.Repeat("wörd ", 1000)
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, ""},
		{[]string{says("first"), `"type":"summary","summary":"Its own title"`, says("second")}, "Its own title"},
		{[]string{says(long)}, strings.Repeat("wörd ", 15) + "wörd…"},
		{[]string{`"type":"user","message":{"role":"user","content":[{"type":"image"},{"type":"text","text":"look"}]}`}, "look"},
		{[]string{gives("t", "no words"), `"type":"user","message":null`}, ""},
		{[]string{says(strings.Repeat(" ", 5000) + "far")}, ""},
	} {
		got, err := transcript.Summarize(seq(chain(t, c.fields...), nil))
		if err != nil || got.Title != c.want {
			t.Errorf("got %q, %v, want %q", got.Title, err, c.want)
		}
	}
}

func TestSummarize_hands_on_the_error_of_the_store(t *testing.T) {
	got, err := transcript.Summarize(seq(chain(t, says("x")), transcript.ErrDamaged))
	if !errors.Is(err, transcript.ErrDamaged) || got.Entries != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLastContext_counts_what_the_model_saw(t *testing.T) {
	const side, failed = `,"isSidechain":true`, `,"isApiErrorMessage":true`
	for name, c := range map[string]struct {
		fields []string
		want   int
	}{
		"the newest reply":              {[]string{spends(1, 10, 100), says("x"), spends(2, 20, 200), gives("t", "x")}, 222},
		"not an API error":              {[]string{spends(1, 10, 100), spends(5, 5, 5) + failed}, 111},
		"not a reply without accounts":  {[]string{spends(1, 10, 100), replies("x"), spends(0, 0, 0)}, 111},
		"not a subagent's":              {[]string{spends(1, 10, 100), spends(7, 7, 7) + side}, 111},
		"a subagent's in its own":       {[]string{spends(1, 10, 100) + side, says("x") + side}, 111},
		"nothing to count":              {[]string{says("x"), replies("y")}, 0},
		"nothing":                       {nil, 0},
		"odd numbers":                   {[]string{`"type":"assistant","message":{"usage":{"input_tokens":"7","cache_read_input_tokens":-3,"cache_creation_input_tokens":2}}`}, 2},
		"accounts that are no accounts": {[]string{`"type":"assistant","message":{"usage":[1]}`}, 0},
	} {
		if got, ok := transcript.LastContext(chain(t, c.fields...)); got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: got %d, %v, want %d", name, got, ok, c.want)
		}
	}
}

// countingStore serves one transcript and counts the entries read.
type countingStore struct {
	transcript.Store
	entries []transcript.Entry
	read    int
	broken  error
}

func (s *countingStore) Head(context.Context, transcript.Key) (transcript.Head, error) {
	if len(s.entries) == 0 {
		return transcript.Head{}, transcript.ErrNotFound
	}
	return transcript.Head{Last: uint64(len(s.entries))}, nil
}

func (s *countingStore) Load(_ context.Context, _ transcript.Key, from uint64) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for i := int(from); i < len(s.entries); i++ {
			s.read++
			e := s.entries[i]
			e.Seq = uint64(i + 1)
			if !yield(e, nil) {
				return
			}
		}
		if s.broken != nil {
			yield(transcript.Entry{}, s.broken)
		}
	}
}

func TestReadLastContext_reads_the_newest_entries_only(t *testing.T) {
	for behind, most := range map[int]int{0: 32, 10: 32, 100: 300, 999: 2100} {
		s := &countingStore{}
		for i := range 1000 {
			f := says("x")
			if i == 999-behind {
				f = spends(1, 2, 3)
			}
			s.entries = append(s.entries, chain(t, f)...)
		}
		got, ok, err := transcript.ReadLastContext(t.Context(), s, transcript.Key{})
		if got != 6 || !ok || err != nil || s.read > most {
			t.Errorf("%d behind: got %d, %v, %v after %d entries, want at most %d", behind, got, ok, err, s.read, most)
		}
	}
}

func TestReadLastContext_tells_threads_apart(t *testing.T) {
	s := &countingStore{entries: chain(t, says("x"), spends(1, 2, 3)+`,"isSidechain":true`)}
	if _, ok, err := transcript.ReadLastContext(t.Context(), s, transcript.Key{}); ok || err != nil {
		t.Errorf("main thread: %v, %v", ok, err)
	}
	if got, ok, err := transcript.ReadLastContext(t.Context(), s, transcript.Key{}.Subagent("7")); got != 6 || !ok || err != nil {
		t.Errorf("subagent: %d, %v, %v", got, ok, err)
	}
}

func TestReadLastContext_hands_on_errors(t *testing.T) {
	if _, _, err := transcript.ReadLastContext(t.Context(), &countingStore{}, transcript.Key{}); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	s := &countingStore{entries: chain(t, says("x")), broken: transcript.ErrDamaged}
	if _, _, err := transcript.ReadLastContext(t.Context(), s, transcript.Key{}); !errors.Is(err, transcript.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestLoadAll_gives_what_can_be_read(t *testing.T) {
	s := &countingStore{entries: chain(t, says("a"), says("b"), says("c"))}
	if all, err := transcript.LoadAll(t.Context(), s, transcript.Key{}); err != nil || len(all) != 3 || all[2].Seq != 3 {
		t.Errorf("%v, %v", all, err)
	}
	s.broken = transcript.ErrDamaged
	if all, err := transcript.LoadAll(t.Context(), s, transcript.Key{}); !errors.Is(err, transcript.ErrDamaged) || len(all) != 3 {
		t.Errorf("damaged: %d entries, %v", len(all), err)
	}
}
