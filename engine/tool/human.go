package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowerlua/flower/engine/human"
)

const askSchema = `{"type":"object","properties":{
"question":{"type":"string","description":"One question, with what the person needs to know to answer it"},
"options":{"type":"array","items":{"type":"string"},"description":"Answers to choose from, if there are any"}},
"required":["question"]}`

// HumanTools are the two tools by which an agent reaches a person through a
// channel: mcp__human__ask, which blocks, and mcp__human__inbox, which does not. The
// tools of a Workflow.Channel are offered by themselves; a Run without a workflow
// takes them in Spec.Tools or Config.Tools, and its spec names them.
func HumanTools(ch *human.Channel) []Tool {
	return []Tool{
		Func{
			Def: Definition{
				Name:        "mcp__human__ask",
				Description: "Ask a person and wait for the answer. Ask only what would change the work, one question at a time. If no answer comes, you are told to decide yourself.",
				Schema:      json.RawMessage(askSchema),
				ReadOnly:    true, // several agents may ask at once
			},
			Call: func(ctx context.Context, c Call) Result { return ask(ctx, ch, c) },
		},
		Func{
			Def: Definition{
				Name:        "mcp__human__inbox",
				Description: "Read what a person sent you while you worked. Never waits. Look into it after every milestone.",
				Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
			},
			Call: func(context.Context, Call) Result { return TextResult(ch.Inbox()) },
		},
	}
}

func ask(ctx context.Context, ch *human.Channel, c Call) Result {
	var in struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return ErrorResult(fmt.Sprintf("the input cannot be read (%v): give question, a text, and options, a list of texts", err))
	}
	who := human.Asker{Run: c.Run, Step: c.Step, Session: c.Session, Subagent: c.Agent}
	return TextResult(ch.AskAs(ctx, who, c.ID, in.Question, in.Options).Text)
}
