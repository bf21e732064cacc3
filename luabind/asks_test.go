package luabind_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/luabind"
)

// toldModel is easyModel whose clarifier asks once before it is done; its brief says
// what people said to it, in order, with everything of one message in brackets.
const toldModel = `
local easy = (function() ` + easyModel + ` end)()
return function(turn)
  if turn.step ~= "clarify" then return easy(turn) end
  local asked, said = 0, {}
  for _, m in ipairs(turn.messages) do
    asked = asked + #m.calls
    local words = {}
    for word in m.text:gmatch("page %u") do words[#words + 1] = word end
    if m.role == "user" and #words > 0 then said[#said + 1] = "[" .. table.concat(words, ", ") .. "]" end
  end
  if asked == 0 then
    return { tool = "mcp__human__ask", input = { question = "question 1", options = { "one", "two" } } }
  end
  return (easy(turn):gsub("a page", "made: " .. table.concat(said, " "), 1))
end
`

// TestStarter_a_new_ask_before_there_is_a_brief_dies_at_every_write: the session
// that makes the brief is told each ask once, in order, wherever it was cut off.
func TestStarter_a_new_ask_before_there_is_a_brief_dies_at_every_write(t *testing.T) {
	watchFiles(t)
	model := loadModel(t, toldModel)
	first, second := map[string]any{"ask": "page A"}, map[string]any{"ask": "page B"}
	cut := slices.Index(writesOf(t, newLife(t, model), first), "file .flower/notes/qa.md") + 1 // it asks
	prepared := func() *life {
		l := newLife(t, model)
		_, _, _ = l.run(cut, after, first) // it dies
		return l
	}
	kinds := writesOf(t, prepared(), second)
	t.Logf("%d writes: %s", len(kinds), strings.Join(kinds, ", "))
	dieAtEach(t, kinds, func(n int, how death) error {
		l := prepared()
		_, _, _ = l.run(n, how, second) // it dies
		if ending, _, err := l.run(0, before, second); err != nil || !ending.OK {
			return fmt.Errorf("the next process ended at %q: %s, %v", ending.FailedAt, ending.Reason, err)
		}
		if text := l.read(".flower/notes/brief.md"); !strings.Contains(text, "made: [page A] [page B]\n") {
			return errors.New(text)
		}
		return nil
	})
}

// writesOf runs a life to its end.
func writesOf(t *testing.T, l *life, options map[string]any) []string {
	t.Helper()
	ending, p, err := l.run(0, before, options)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	return p.kinds
}

// lastCut is a life in which one process after the other was cut off at a write.
func lastCut(t *testing.T, model *luabind.Rehearsal, asks []string, at string) *life {
	t.Helper()
	if len(asks) == 0 {
		return newLife(t, model)
	}
	options := map[string]any{"ask": asks[len(asks)-1]}
	earlier := asks[:len(asks)-1]
	n := slices.Index(writesOf(t, lastCut(t, model, earlier, at), options), at) + 1
	l := lastCut(t, model, earlier, at)
	if _, p, _ := l.run(n, before, options); n == 0 || !p.isDead() {
		t.Fatalf("%v: it was not cut off", asks)
	}
	return l
}

func TestStarter_asks_before_there_is_a_brief_are_all_told(t *testing.T) {
	watchFiles(t)
	model := loadModel(t, toldModel)
	const begins, ends = "file runs/lineage.json", "file .flower/notes/brief.md"
	for _, c := range []struct {
		at   string // the write that all runs but the last are cut off at
		asks []string
		want string
	}{
		{begins, []string{"page A", "page B"}, "[page A, page B]"}, // no session was told of the first
		{ends, []string{"page A", "page A"}, "[page A]"},
		{ends, []string{"page A", "page B", "page B"}, "[page A] [page B]"},
		{ends, []string{"page A", "page B", "page A"}, "[page A] [page B] [page B, page A]"}, // a list, in order
	} {
		l := lastCut(t, model, c.asks[:len(c.asks)-1], c.at)
		if ending, _, err := l.run(0, before, map[string]any{"ask": c.asks[len(c.asks)-1]}); err != nil || !ending.OK {
			t.Errorf("%v: %+v, %v", c.asks, ending, err)
			continue
		}
		if text := l.read(".flower/notes/brief.md"); !strings.Contains(text, "made: "+c.want+"\n") {
			t.Errorf("%v: %s", c.asks, text)
		}
	}
}

func TestStarter_a_new_ask_is_told_in_the_language_of_the_run(t *testing.T) {
	for lang, want := range map[string]string{"en": "the newest words last:\n\npage B\n", "zh": "最新的在最后）：\n\npage B\n"} {
		p := inLanguage(t, lang, &echo{}, `
			local clarify = require("flower.clarify")
			local step = clarify.clarify_step{ channel = flower.channel{}, brief_path = "b.md", prompt = "page A", more = "page B" }
			print(step.resume_prompt)`, "")
		if text := strings.Join(p.printed, "\n"); p.err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, told %s", lang, p.err, text)
		}
	}
}
