package luabind_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

const greetScript = `
local greeter = flower.agent{ name = "greeter", allowed_tools = { "Write" } }

return flower.workflow{
  name = "greet",
  steps = {
    flower.step{
      name = "greet",
      spec = greeter,
      prompt = "Write a greeting to hello.txt.",
      retries = 1,
      gate = function(result)
        return flower.fs.read("hello.txt") == "Hello!", "hello.txt should say Hello!, and no more."
      end,
    },
  },
}
`

// greetModel plays the model: the first attempt is wrong.
const greetModel = `
return function(turn)
  if #turn.messages[#turn.messages].results > 0 then
    return "It is written."
  end
  local word = turn.step == "greet" and "Hi." or "Hello!"
  return { tool = "Write", input = { file_path = "hello.txt", content = word } }
end
`

// A script is loaded once and run as often as wanted. Here a rehearsal plays the
// model, so that no key and no network is needed; everything else is real.
func ExampleProgram_Run() {
	dir, err := os.MkdirTemp("", "greet-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	modelFile := filepath.Join(dir, "model.lua")
	if err := os.WriteFile(modelFile, []byte(greetModel), 0o644); err != nil {
		log.Fatal(err)
	}
	rehearsal, err := luabind.LoadRehearsal(modelFile, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer rehearsal.Close()
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rt, err := engine.New(engine.Config{Workspace: dir, Store: db, Harness: native.New(native.Config{Model: rehearsal})})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	program, err := luabind.Load("greet.lua", greetScript, nil)
	if err != nil {
		log.Fatal(err)
	}
	ending, err := program.Run(context.Background(), rt, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range ending.Results {
		fmt.Printf("%s: %s\n", r.Step, r.Text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Println(ending.OK, string(text), err)
	// Output:
	// greet: It is written.
	// greet#round2: It is written.
	// true Hello! <nil>
}

// What is wrong with a script's syntax is known before anything runs.
func ExampleLoad() {
	_, err := luabind.Load("fix.lua", "local steps = {\n  one = 1,\n  two = = 2,\n}\n", nil)
	fmt.Println(err)
	var e *luabind.Error
	if errors.As(err, &e) {
		fmt.Println(e.File, e.Line, e.Code)
	}
	// Output:
	// fix.lua:3: syntax error near "="
	// fix.lua 3 syntax
}

// A program lends functions to its scripts. Arguments and results are plain Go
// values; an error comes back to the script as nil and its text.
func ExampleModule() {
	tickets := luabind.Module{Name: "tickets", Functions: map[string]any{
		"title": func(ctx context.Context, id int) (string, error) {
			if id != 7 {
				return "", fmt.Errorf("there is no ticket %d", id)
			}
			return "The door squeaks", nil
		},
	}}
	program, err := luabind.Load("ask.lua", `
		local tickets = require("tickets")
		flower.fs.write("seven.txt", tickets.title(7))
		flower.fs.write("eight.txt", select(2, tickets.title(8)))`,
		&luabind.Options{Modules: []luabind.Module{tickets}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ask-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(filepath.Join(dir, "runs", "sessions"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rt, err := engine.New(engine.Config{Workspace: dir, Store: db, Harness: native.New(native.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	if _, err := program.Run(context.Background(), rt, nil); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"seven.txt", "eight.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Println(strings.TrimSpace(string(text)), err)
	}
	// Output:
	// The door squeaks <nil>
	// there is no ticket 8 <nil>
}
