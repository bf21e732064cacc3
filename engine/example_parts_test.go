package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// caller stands in for the Messages API: it makes one call, then says what came of
// it.
func caller(name, input string) *messagesapi.Server {
	s, err := messagesapi.Start(&messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		results := r.Results()
		if len(results) == 0 {
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", name, input)}}
		}
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("I was told: " + results[0].Content[0].Text)}}
	}})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// A tool is a Go function with a description for the model. Agents that name it
// can call it.
func ExampleRuntime_Run_tool() {
	api := caller("ticket_title", `{"id":7}`)
	defer api.Close()

	title := tool.Func{
		Def: tool.Definition{
			Name:        "ticket_title",
			Description: "Gives the title of a ticket.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`),
			ReadOnly:    true,
		},
		Call: func(ctx context.Context, c tool.Call) tool.Result {
			var input struct{ ID int }
			if err := json.Unmarshal(c.Input, &input); err != nil {
				return tool.ErrorResult("id must be a number: " + err.Error())
			}
			return tool.TextResult(fmt.Sprintf("ticket %d: the greeting lacks a name", input.ID))
		},
	}
	rt, done := open(api.URL(), func(c *engine.Config) { c.Tools = []tool.Tool{title} })
	defer done()

	clerk := engine.Spec{Name: "clerk", AllowedTools: []string{"ticket_title"}}
	result, err := rt.Run(context.Background(), clerk, "What is ticket 7 about?", engine.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output: I was told: ticket 7: the greeting lacks a name
}

// A guard sees each call before it runs. What it denies does not run, and the
// model reads why.
func ExampleRuntime_Run_guard() {
	api := caller("Bash", `{"command":"git push --force"}`)
	defer api.Close()
	rt, done := open(api.URL())
	defer done()

	noPush := guard.Before("no-push", func(ctx context.Context, c guard.Call) (guard.Decision, error) {
		if c.Tool == "Bash" && strings.Contains(string(c.Input), "git push") {
			return guard.Decision{Action: guard.Deny, Reason: "Nothing is pushed from here. Commit, and say so."}, nil
		}
		return guard.Decision{}, nil
	})
	coder := engine.Spec{Name: "coder", AllowedTools: []string{"Bash"}, Guards: []guard.Guard{noPush}}
	result, err := rt.Run(context.Background(), coder, "Publish it.", engine.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output: I was told: Nothing is pushed from here. Commit, and say so.
}

// Questions of agents come as events; any goroutine answers them.
func ExampleRuntime_RunWorkflow_questions() {
	api := caller("mcp__human__ask", `{"question":"Which port?","options":["80","8080"]}`)
	defer api.Close()

	var channel *human.Channel
	answer := event.SinkFunc(func(e event.Event) {
		if e.Kind == event.Ask && e.Payload["state"] == "asked" {
			channel.Answer(e.Payload["id"].(string), "8080")
		}
	})
	rt, done := open(api.URL(), func(c *engine.Config) { c.Sink = answer })
	defer done()
	channel, err := human.New(human.Options{Store: rt.Store(), Project: rt.Project()})
	if err != nil {
		log.Fatal(err)
	}

	server := engine.Spec{Name: "server", AllowedTools: []string{"mcp__human__ask"}}
	ending, err := rt.RunWorkflow(context.Background(), &engine.Workflow{
		Channel: channel,
		Steps:   []engine.Step{{Name: "serve", Spec: server, Prompt: engine.Text("Choose a port.")}},
	}, engine.WorkflowOptions{})
	if err != nil {
		log.Fatal(err)
	}
	text, _ := ending.Context.Get("serve")
	fmt.Println(text)
	// Output: I was told: 8080
}
