// Command embed shows flower inside a Go program: a store, a runtime, one Go
// function for scripts, a script, and its events.
//
//	go run ./examples/embed [workspace]
//
// A rehearsal plays the model; with a key, anthropic.New(nil) takes its place.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// tickets is a Go function for scripts: require("tickets").title(id).
var tickets = luabind.Module{Name: "tickets", Functions: map[string]any{
	"title": func(ctx context.Context, id int) (string, error) {
		if id != 7 {
			return "", fmt.Errorf("there is no ticket %d", id)
		}
		return "The greeting lacks a name", nil
	},
}}

func main() {
	workspace := "."
	if len(os.Args) > 1 {
		workspace = os.Args[1]
	}
	if err := run(context.Background(), workspace); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, workspace string) error {
	model, err := luabind.LoadRehearsal("examples/embed/ticket.rehearsal.lua", nil)
	if err != nil {
		return err
	}
	defer model.Close()
	db, err := store.Open(filepath.Join(workspace, "runs", "sessions"), nil)
	if err != nil {
		return err
	}
	defer db.Close()
	rt, err := engine.New(engine.Config{
		Workspace: workspace,
		Store:     db,
		Harness:   native.New(native.Config{Model: model}),
		Sink:      event.SinkFunc(func(e event.Event) { fmt.Println(e.Kind, e.Step, e.Text) }),
	})
	if err != nil {
		return err
	}
	defer rt.Close()
	program, err := luabind.LoadFile("examples/embed/ticket.lua", &luabind.Options{Modules: []luabind.Module{tickets}})
	if err != nil {
		return err
	}
	ending, err := program.Run(ctx, rt, []string{"7"})
	if err == nil && !ending.OK {
		err = fmt.Errorf("step %s: %s", ending.FailedAt, ending.Reason)
	}
	return err
}
