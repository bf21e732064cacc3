package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// provider stands in for the Messages API: it says yes, or no to what is sent back.
func provider() *messagesapi.Server {
	s, err := messagesapi.Start(&messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		text := "Hello!"
		if strings.Contains(r.Prompt(), "longer") {
			text = "Hello, dear reader!"
		}
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(text)}}
	}})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// open makes a Runtime in a new folder; done closes everything.
func open(baseURL string, change ...func(*engine.Config)) (rt *engine.Runtime, done func()) {
	dir, err := os.MkdirTemp("", "flower-example-*")
	if err != nil {
		log.Fatal(err)
	}
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		log.Fatal(err)
	}
	model := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: baseURL})
	config := engine.Config{Workspace: dir, Store: db, Harness: native.New(native.Config{Model: model})}
	for _, f := range change {
		f(&config)
	}
	rt, err = engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	return rt, func() {
		rt.Close()
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

func ExampleRuntime_Run() {
	api := provider()
	defer api.Close()
	rt, done := open(api.URL())
	defer done()

	greeter := engine.Spec{Name: "greeter", Instructions: "Be brief."}
	result, err := rt.Run(context.Background(), greeter, "Say hello.", engine.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.OK, result.Text)
	// Output: true Hello!
}

func ExampleRuntime_RunWorkflow() {
	api := provider()
	defer api.Close()
	rt, done := open(api.URL())
	defer done()

	greet := engine.Step{
		Name:    "greet",
		Spec:    engine.Spec{Name: "greeter"},
		Prompt:  engine.Text("Say hello."),
		Retries: 1,
		Gate: func(_ context.Context, r engine.Result, _ engine.Context) (bool, string, error) {
			return len(r.Text) > 10, "Say it a little longer.", nil
		},
	}
	ending, err := rt.RunWorkflow(context.Background(), &engine.Workflow{Name: "hello", Steps: []engine.Step{greet}}, engine.WorkflowOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range ending.Results {
		fmt.Println(r.Step, r.Gate, r.Text)
	}
	// Output:
	// greet rejected Hello!
	// greet#round2 passed Hello, dear reader!
}
