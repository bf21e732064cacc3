package playback_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// runOne runs an agent on a prompt with a model and prints what it says.
func runOne(dir string, m model.Model, apart bool, prompt string) {
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rt, err := engine.New(engine.Config{
		Workspace: dir,
		Store:     db,
		Harness:   native.New(native.Config{Model: m, Sleep: playback.NoWait}),
		Sleep:     playback.NoWait,
		Apart:     apart,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	result, err := rt.Run(context.Background(), engine.Spec{Name: "poet"}, prompt, engine.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %q\n", result.OK, result.Text)
}

// A run is recorded once; from then on it needs no provider. What it asks for has to
// stay the same.
func Example() {
	dir, err := os.MkdirTemp("", "playback-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	api, err := messagesapi.Start(&messagesapi.Options{Script: func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("A bee.")}}
	}})
	if err != nil {
		log.Fatal(err)
	}
	client := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: api.URL()})

	recorder, err := playback.Record(filepath.Join(dir, "rec"), client, nil)
	if err != nil {
		log.Fatal(err)
	}
	runOne(dir, recorder, false, "Write a poem.")
	if err := errors.Join(recorder.Finish(), recorder.Close()); err != nil {
		log.Fatal(err)
	}
	api.Close()

	player, err := playback.Open(filepath.Join(dir, "rec"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer player.Close()
	runOne(dir, player, true, "Write a poem.")
	fmt.Println(player.Err(), player.Rest().Exchanges)

	player, err = playback.Open(filepath.Join(dir, "rec"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer player.Close()
	runOne(dir, player, true, "Write a novel.")
	var difference *playback.Error
	if errors.As(player.Err(), &difference) {
		fmt.Println(difference.Paths[0])
		fmt.Println(difference.Diff)
	}
	// Output:
	// true "A bee."
	// true "A bee."
	// <nil> 0
	// false ""
	// messages[0].content[0].text
	// --- recorded
	// +++ now
	// @@ -1 +1 @@
	// -Write a poem.
	// +Write a novel.
}
