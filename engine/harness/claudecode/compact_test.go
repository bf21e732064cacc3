package claudecode_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// fills is an answer with a call that leaves the context at so many tokens.
func fills(tokens int, command string) api.Turn {
	t := calls("Bash", input("command", command))
	t.Usage = &api.Usage{Input: tokens, Output: 5}
	return t
}

// tooLong is how the provider refuses a conversation that does not fit.
func tooLong() api.Turn {
	return api.Turn{Error: &api.Error{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}}
}

func TestCompact_says_whether_the_program_summarises(t *testing.T) {
	t.Setenv("DISABLE_COMPACT", "1") // the host's: nobody's business
	auto := harness.Compaction{Mode: harness.CompactAuto, Window: 100_000}
	for name, c := range map[string]struct {
		compact    harness.Compaction
		line       int64
		full       int
		refused    bool // by the provider, as too long
		summarised bool
	}{
		"auto":                          {compact: auto, full: 80_000, summarised: true},
		"auto, with a line":             {compact: auto, full: 80_000, line: 190_000, summarised: true},
		"auto, room left":               {compact: auto, full: 60_000},
		"no_summary":                    {compact: harness.Compaction{Mode: harness.CompactNoSummary}, full: 175_000},
		"off":                           {compact: harness.Compaction{Mode: harness.CompactOff}, full: 150_000},
		"unset, too long":               {full: 175_000, refused: true, summarised: true},
		"unset, with a line, too long":  {line: 190_000, full: 175_000, refused: true},
		"auto without window, too long": {compact: harness.Compaction{Mode: harness.CompactAuto}, full: 175_000, refused: true, summarised: true},
		"no_summary, too long":          {compact: harness.Compaction{Mode: harness.CompactNoSummary}, full: 175_000, refused: true},
		"off, too long":                 {compact: harness.Compaction{Mode: harness.CompactOff}, full: 150_000, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fills(c.full, "echo the-early-one"), fills(c.full, "echo the-late-one"))
			if c.refused {
				b.server.Enqueue(tooLong())
			}
			if c.summarised {
				b.server.Enqueue(says("<summary>What was done so far.</summary>"))
			}
			b.server.Enqueue(says("Done."))
			b.turn.Agent.Compact, b.turn.Limits.ContextLine = c.compact, c.line
			out, err := b.run()
			if c.refused && !c.summarised {
				if err == nil || !failure.Overflow(err.Error()) {
					t.Errorf("%+v, %v", out, err)
				}
				return
			}
			if err != nil || out.Text != "Done." {
				t.Fatalf("%+v, %v", out, err)
			}
			text := said(b.last())
			if got := strings.Contains(text, "What was done so far."); got != c.summarised || got == strings.Contains(text, "the-early-one") {
				t.Errorf("summarised is %t, want %t:\n%s", got, c.summarised, text)
			}
			if resets := b.of(event.Reset); len(resets) > 0 != c.summarised {
				t.Errorf("reset events: %+v", resets)
			}
		})
	}
}

func TestCompact_a_summarised_session_goes_on_from_its_summary(t *testing.T) {
	b := newBench(t, fills(80_000, "echo the-early-one"), fills(80_000, "echo the-late-one"),
		says("<summary>What was done so far.</summary>"), says("Done."), says("Still here."))
	b.turn.Agent.Compact = harness.Compaction{Mode: harness.CompactAuto, Window: 100_000}
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "And now?")
	b.mustRun(harness.EndTurn)
	text := said(b.last())
	if !strings.Contains(text, "What was done so far.") || !strings.Contains(text, "the-late-one") || strings.Contains(text, "the-early-one") {
		t.Errorf("the resumed session:\n%s", text)
	}
}

func TestCompact_off_ends_a_conversation_that_is_as_long_as_the_window(t *testing.T) {
	b := newBench(t, fills(195_000, "echo much"))
	b.turn.Agent.Compact.Mode = harness.CompactOff
	_, err := b.run()
	if err == nil || !failure.Overflow(err.Error()) {
		t.Errorf("err = %v", err)
	}
	if n := len(b.requests()); n != 1 {
		t.Errorf("%d requests were made", n)
	}
}
