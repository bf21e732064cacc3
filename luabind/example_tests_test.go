package luabind_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/store"
)

// A Go program runs tests in Lua among its own.
func ExampleTest() {
	dir, err := os.MkdirTemp("", "greet-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"greet.lua": greetScript, "greet.test.lua": `
local greet = flower.test.load("greet.lua")

it("wants Hello!, and no more", function()
  flower.test.files{ ["hello.txt"] = "Hello! How are you?" }
  local pass, reason = greet.steps.greet.gate()
  expect(pass).to_be(false)
  expect(reason).to_contain("no less")
end)
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	tested, err := luabind.Test(context.Background(), filepath.Join(dir, "greet.test.lua"), luabind.TestOptions{
		Config:  engine.Config{Store: db, NoRetry: true},
		Harness: func(m model.Model, runDir string) harness.Harness { return native.New(native.Config{Model: m}) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tested {
		fmt.Println(t.State, t.Name())
		if f := t.Failure; f != nil {
			fmt.Printf("%s:%d: %s\nexpected %s\ngot %s\n", filepath.Base(f.File), f.Line, f.Message, f.Want, f.Got)
		}
	}
	// Output:
	// failed wants Hello!, and no more
	// greet.test.lua:8: expected a text that contains another
	// expected "no less"
	// got "hello.txt should say Hello!, and no more."
}
