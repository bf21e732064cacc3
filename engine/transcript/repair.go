package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// AskTool is the tool that asks a person. A question outlives its process.
const AskTool = "mcp__human__ask"

// The texts of results that Repair appends.
const (
	DefaultCutText = "The process ended before the result of this call was recorded. The call may or may not have taken effect: " +
		"look at the present state before you repeat it."
	DefaultCutAgentText = "The process ended before this agent reported. What it did until then is kept. " +
		"To let it go on from there, call Agent with resume \"{id}\"; what it had started may or may not have taken effect."
)

// RepairOptions are what Repair needs from outside. The zero value will do.
type RepairOptions struct {
	// Agents gives the id of the subagent that an Agent call had started, by
	// tool_use id. A call that is not in it gets Text.
	Agents    map[string]string
	Text      string // empty: DefaultCutText
	AgentText string // with {id}; empty: DefaultCutAgentText
	// NewID makes the uuid of an entry. nil derives it from the call, so that two
	// processes that repair the same transcript append the same entries.
	NewID func() string
	Now   func() time.Time // nil: time.Now
}

// RepairReport is what Repair found.
type RepairReport struct {
	Cut []Call // calls that got a result
	// Open are questions to a person that wait for their answer, which becomes
	// the result. Give their ids to the view as Policy.Pending.
	Open []Call
}

// Call is a tool call in a transcript.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
	Entry string // uuid of its entry
}

// Repair returns the entries to append when a session is opened whose tail was cut
// off by a crash: a result for every call of the last reply that has none, saying
// that nobody knows whether it took effect. Call it with all entries of the
// transcript, append what it returns before anybody else reads the session, then
// make the view. What is broken further up is not touched: the view mends it. A
// second Repair returns nothing. Nothing stored is changed.
func Repair(entries []Entry, o RepairOptions) ([]Entry, RepairReport) {
	live, _ := Live(entries, "") // cannot fail without a message to go back to
	var out []Entry
	var report RepairReport
	parent := Tail(live)
	for _, c := range openCalls(live) {
		if c.Name == AskTool {
			report.Open = append(report.Open, c.Call)
			continue
		}
		e := o.answer(c, parent)
		parent = e.UUID
		out = append(out, e)
		report.Cut = append(report.Cut, c.Call)
	}
	return out, report
}

// openCall is a call without a result, in the entry from.
type openCall struct {
	Call
	from *Entry
}

// openCalls are the calls of the last reply that have no result, in order.
func openCalls(live []Entry) []openCall {
	answered := map[string]bool{}
	for i := range live {
		for _, id := range live[i].ToolResults {
			answered[id] = true
		}
	}
	var open []openCall
	for _, e := range lastReply(live) {
		readBlocks(e.Raw, messageContent(e.Raw).lo, func(b block, name, input span) {
			if b.kind != toolUse || b.id == "" || answered[b.id] {
				return
			}
			answered[b.id] = true
			tool, _ := textAt(e.Raw, name)
			open = append(open, openCall{Call{ID: b.id, Name: tool, Input: slices.Clone(input.in(e.Raw)), Entry: e.UUID}, e})
		})
	}
	return open
}

// lastReply is the model's newest reply, in order: none when somebody has said
// something since. Its entries share a message id; without ids they stand next to
// each other.
func lastReply(live []Entry) []*Entry {
	var reply []*Entry
	apart := false
	for i := len(live) - 1; i >= 0; i-- {
		e := &live[i]
		switch {
		case e.Flags.Has(APIError) || !isMessage(e):
		case e.Type == "assistant":
			if len(reply) > 0 && (e.MessageID != reply[0].MessageID || e.MessageID == "" && apart) {
				slices.Reverse(reply)
				return reply
			}
			reply, apart = append(reply, e), false
		case len(e.ToolResults) == 0 && !e.Flags.Has(Meta):
			slices.Reverse(reply)
			return reply
		default:
			apart = true
		}
	}
	slices.Reverse(reply)
	return reply
}

func (o RepairOptions) answer(c openCall, parent string) Entry {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	a := answer{from: c.from, uuid: o.id(c.Call), parent: parent, time: now(), source: true}
	a.results = []result{{id: c.ID, text: o.text(c.Call), isError: true}}
	return a.entry()
}

func (o RepairOptions) id(c Call) string {
	if o.NewID != nil {
		return o.NewID()
	}
	return derivedID("repair", c.Entry, c.ID)
}

func (o RepairOptions) text(c Call) string {
	agent := o.Agents[c.ID]
	if agent == "" {
		return orText(o.Text, DefaultCutText)
	}
	return strings.ReplaceAll(orText(o.AgentText, DefaultCutAgentText), "{id}", agent)
}
