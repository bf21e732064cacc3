package transcript_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// author writes random transcripts: mostly sound ones, with everything in them
// that can go wrong.
type author struct {
	*rand.Rand
	prefix string
	uuids  []string
	calls  []string
	lines  []string
}

func newAuthor(seed uint64) *author {
	return &author{Rand: rand.New(rand.NewPCG(seed, 0)), prefix: "n"}
}

func (a *author) pick(choices ...string) string { return choices[a.IntN(len(choices))] }

func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

func (a *author) write(n int) []string {
	a.lines = nil
	for range n {
		a.lines = append(a.lines, a.line())
	}
	return a.lines
}

func (a *author) line() string {
	fields := map[string]any{}
	if a.chance(95) {
		fields["uuid"] = a.uuid()
	}
	switch parent := a.parent(); {
	case parent != "":
		fields["parentUuid"] = parent
	case a.chance(80):
		fields["parentUuid"] = nil
	}
	for _, key := range []string{"isMeta", "isCompactSummary", "isSidechain"} {
		if a.chance(3) {
			fields[key] = true
		}
	}
	fields["type"] = a.pick("user", "user", "user", "assistant", "assistant", "assistant", "system", "attachment", "novelty")
	switch fields["type"] {
	case "assistant":
		a.assistant(fields)
	case "user":
		a.user(fields)
	case "system":
		if a.chance(50) {
			fields["subtype"] = transcript.PrefixSubtype
		}
	}
	return a.encode(fields)
}

func (a *author) uuid() string {
	if a.chance(2) && len(a.uuids) > 0 {
		return a.pick(a.uuids...)
	}
	id := fmt.Sprintf("%s%d", a.prefix, len(a.uuids))
	a.uuids = append(a.uuids, id)
	return id
}

// parent is the entry before, mostly.
func (a *author) parent() string {
	switch n := len(a.uuids); {
	case n < 2 || a.chance(3):
		return ""
	case a.chance(3):
		return "unknown"
	case a.chance(4):
		return fmt.Sprintf("%s%d", a.prefix, n+a.IntN(3))
	case a.chance(10):
		return a.pick(a.uuids...)
	default:
		return a.uuids[n-2]
	}
}

func (a *author) assistant(fields map[string]any) {
	if a.chance(8) {
		fields["isApiErrorMessage"] = true
	}
	var content []any
	for range 1 + a.IntN(3) {
		content = append(content, a.said())
	}
	message := map[string]any{"role": "assistant", "content": content}
	if a.chance(30) {
		message["id"] = fmt.Sprintf("msg_%s%d", a.prefix, len(a.uuids)/3)
	}
	fields["message"] = message
}

func (a *author) said() any {
	switch {
	case a.chance(20):
		return map[string]any{"type": "text", "text": a.text()}
	case a.chance(10):
		return map[string]any{"type": "thinking", "thinking": a.text(), "signature": "s"}
	}
	id := fmt.Sprintf("t%s%d", a.prefix, len(a.calls))
	if a.chance(2) && len(a.calls) > 0 {
		id = a.pick(a.calls...)
	}
	a.calls = append(a.calls, id)
	input := map[string]any{"command": a.pick("ls", "ls -R", "git status", "pwd", "make", "go test ./...", "ls "+strings.Repeat("é", 300))}
	return map[string]any{"type": "tool_use", "id": id, "name": a.pick("Bash", "Bash", "Bash", "Read", "Agent"), "input": input}
}

func (a *author) user(fields map[string]any) {
	if a.chance(15) || len(a.calls) == 0 {
		fields["message"] = map[string]any{"role": "user", "content": a.text()}
		return
	}
	if a.chance(15) {
		fields["toolDenialKind"] = "permission-rule"
	}
	var content []any
	for range 1 + a.IntN(2) {
		content = append(content, a.result())
	}
	fields["toolUseResult"] = a.text()
	fields["message"] = map[string]any{"role": "user", "content": content}
}

func (a *author) result() any {
	if a.chance(5) {
		return map[string]any{"type": "text", "text": a.text()}
	}
	id := a.calls[max(0, len(a.calls)-1-a.IntN(4))]
	if a.chance(3) {
		id = "nobody's " + a.prefix
	}
	r := map[string]any{"type": "tool_result", "tool_use_id": id}
	if a.chance(97) {
		r["content"] = a.resultContent()
	}
	if a.chance(30) {
		r["is_error"] = a.chance(80)
	}
	return r
}

func (a *author) resultContent() any {
	switch {
	case a.chance(8):
		return []any{}
	case a.chance(10):
		return []any{map[string]any{"type": "text", "text": a.text()}, map[string]any{"type": "image", "source": "AA=="}}
	case a.chance(15):
		return []any{map[string]any{"type": "text", "text": a.text()}, map[string]any{"type": "text", "text": a.text()}}
	}
	return a.text()
}

func (a *author) text() string {
	return a.pick("", "ok", "[Request interrupted by user for tool use]", "7", "<<orphan>>", "<b>&\"quoted\"\n", "é", "𝄞",
		strings.Repeat("x", a.IntN(90)), strings.Repeat("é", a.IntN(90)), strings.Repeat("\t𝄞", a.IntN(40)))
}

// encode writes the fields, now and then with white space and escapes.
func (a *author) encode(fields map[string]any) string {
	text, err := json.Marshal(fields)
	if a.chance(20) {
		text, err = json.MarshalIndent(fields, "", " ")
	}
	if err != nil {
		panic(err)
	}
	if a.chance(3) {
		return strings.Replace(string(text), `"type"`, `"\u0074ype"`, 1)
	}
	if a.chance(2) {
		return strings.Replace(string(text), "xxx", `x\ud834x`, 1)
	}
	return string(text)
}

// policy is a random one that cleans much.
func (a *author) policy() transcript.Policy {
	p := transcript.Policy{
		Expire: transcript.ExpirePolicy{Enabled: a.chance(80), KeepRecent: a.IntN(4) - 1, MaxChars: a.pickInt(0, 5, 50, -3), Text: a.pick("<<{cmd} {age}>>", "gone", "{cmd}{age}", "", "{age}")},
		Trim:   transcript.TrimPolicy{Enabled: a.chance(80), KeepRecent: a.IntN(4) - 1, MinChars: a.pickInt(0, 1, 10, 40, -3), Text: a.pick("<<{n} {path}>>", "{path}", "", "moved")},
		NewID:  healIDs(),
	}
	if a.chance(90) {
		p.Prune = transcript.PrunePolicy{
			DropAPIErrors: a.chance(80), NeutralizeInterrupts: a.chance(80), HealOrphans: a.chance(80), KeepDenials: a.IntN(4) - 1,
			InterruptText: a.pick("", "<<interrupted>>", strings.Repeat("i", 60)), OrphanText: a.pick("", "<<orphan>>", strings.Repeat("o", 60)),
		}
	}
	p.Denied = map[string]bool{}
	for _, id := range a.calls {
		if a.chance(5) {
			p.Denied[id] = true
		}
	}
	return p
}

func (a *author) pickInt(choices ...int) int { return choices[a.IntN(len(choices))] }

// randomCase is a transcript and a policy.
func randomCase(t testing.TB, seed uint64) ([]transcript.Entry, transcript.Policy) {
	a := newAuthor(seed)
	entries := parseAll(t, a.write(1+a.IntN(60))...)
	return entries, a.policy()
}
