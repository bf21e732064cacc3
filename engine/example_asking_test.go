package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
)

// Where workflows with channels run side by side, the event says whose question it
// is: ids count per channel.
func ExampleRuntime_ChannelOf() {
	api := caller("mcp__human__ask", `{"question":"Which port?"}`)
	defer api.Close()

	var rt *engine.Runtime
	answer := event.SinkFunc(func(e event.Event) {
		if e.Kind != event.Ask || e.Payload["state"] != "asked" {
			return
		}
		if channel := rt.ChannelOf(e.Run); channel != nil {
			channel.Answer(e.Payload["id"].(string), "the one of "+e.Step)
		}
	})
	rt, done := open(api.URL(), func(c *engine.Config) { c.Sink = answer })
	defer done()

	told := make([]string, 2)
	var both sync.WaitGroup
	for i, name := range []string{"web", "mail"} {
		both.Go(func() {
			channel, err := human.New(human.Options{})
			if err != nil {
				log.Fatal(err)
			}
			spec := engine.Spec{Name: name, AllowedTools: []string{engine.ToolAsk}}
			ending, err := rt.RunWorkflow(context.Background(), &engine.Workflow{
				Name: name, Channel: channel,
				Steps: []engine.Step{{Name: name, Spec: spec, Prompt: engine.Text("Choose a port.")}},
			}, engine.WorkflowOptions{})
			if err != nil {
				log.Fatal(err)
			}
			told[i] = ending.Results[0].Text
		})
	}
	both.Wait()
	fmt.Println(told[0])
	fmt.Println(told[1])
	// Output:
	// I was told: the one of web
	// I was told: the one of mail
}

// Without a workflow the channel's tools are given by hand, and the channel has a
// sink of its own.
func ExampleRuntime_Run_question() {
	api := caller("mcp__human__ask", `{"question":"Which port?"}`)
	defer api.Close()
	rt, done := open(api.URL())
	defer done()

	var channel *human.Channel
	channel, err := human.New(human.Options{Sink: event.SinkFunc(func(e event.Event) {
		if e.Payload["state"] == "asked" {
			go channel.Answer(e.Payload["id"].(string), "8080")
		}
	})})
	if err != nil {
		log.Fatal(err)
	}
	server := engine.Spec{Name: "server", Tools: tool.HumanTools(channel), AllowedTools: []string{engine.ToolAsk}}
	result, err := rt.Run(context.Background(), server, "Choose a port.", engine.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output: I was told: 8080
}

// The accounts of all runs in a run directory, this process's and earlier ones'.
func ExampleRuntime_ManifestPath() {
	api := provider()
	defer api.Close()
	rt, done := open(api.URL())
	defer done()
	if _, err := rt.Run(context.Background(), engine.Spec{Name: "greeter"}, "Say hello.", engine.RunOptions{}); err != nil {
		log.Fatal(err)
	}

	raw, err := os.ReadFile(rt.ManifestPath())
	if err != nil {
		log.Fatal(err)
	}
	var rows []engine.Result
	if err := json.Unmarshal(raw, &rows); err != nil {
		log.Fatal(err)
	}
	for _, r := range rows {
		fmt.Println(r.Step, r.OK, r.Text)
	}
	// Output: greeter true Hello!
}
