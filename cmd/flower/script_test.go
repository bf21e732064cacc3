package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowerlua/flower/internal/messagesapi"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"flower": main})
}

// TestScript runs what a user types: every file in testdata/script.
func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("EXAMPLES", examples)
			arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
			if arch == "" {
				arch = runtime.GOARCH
			}
			// The program itself: the npm package's own command needs its install script.
			cli, err := filepath.Abs("../../engine/harness/claudecode/testdata/cli/node_modules/@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch)
			if err != nil {
				return err
			}
			env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+cli)
			env.Setenv("GOCACHE", os.Getenv("GOCACHE"))
			if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
				env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
			}
			env.Setenv("GOFLAGS", "-mod=mod")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"api": serveAPI, "collector": serveCollector},
	})
}

// serveAPI is the command api NAME: it serves the Messages API with one of the
// models below and points flower at it.
func serveAPI(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || models[args[0]] == nil {
		ts.Fatalf("usage: api NAME")
	}
	server, err := messagesapi.Start(&messagesapi.Options{Script: models[args[0]], Keys: []string{"test-key"}})
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Defer(func() {
		if err := server.Close(); err != nil {
			ts.Logf("close the api: %v", err)
		}
	})
	ts.Setenv("ANTHROPIC_BASE_URL", server.URL())
	ts.Setenv("ANTHROPIC_API_KEY", "test-key")
}

// models play the model over HTTP.
var models = map[string]func(messagesapi.Request) messagesapi.Turn{
	"hello":    hello,
	"fix_test": fixTest,
	"unavailable": func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Error: &messagesapi.Error{Status: 401}}
	},
	"no_model": func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Error: &messagesapi.Error{Status: 404}}
	},
	"too_long": tooLong,
	"overloaded": func(messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Error: &messagesapi.Error{Status: 529}}
	},
}

// tooLong is a model whose context is full after one call.
func tooLong(r messagesapi.Request) messagesapi.Turn {
	switch {
	case len(r.Results()) > 0:
		return messagesapi.Turn{Error: &messagesapi.Error{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}}
	case strings.Contains(r.Prompt(), "You take over work in progress"):
		return say("The work is taken over.")
	case strings.Contains(r.Prompt(), "make a page"):
		return say("## Goal\na page\n\n## Acceptance criteria\nit opens\n\n## Boundaries\nnone\n\n## Unknowns and assumptions\nnone known\n")
	}
	return call("Read", `{"file_path":"../full.lua"}`)
}

func say(text string) messagesapi.Turn {
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text(text)}}
}

func call(tool, input string) messagesapi.Turn {
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", tool, input)}}
}

func hello(r messagesapi.Request) messagesapi.Turn {
	switch {
	case len(r.Results()) > 0:
		return say("The poem is in poem.txt.")
	case strings.Contains(r.Prompt(), "found in a garden"):
		return say("a bee")
	}
	return call("Write", `{"file_path":"poem.txt","content":"A bee.\n"}`)
}

func fixTest(r messagesapi.Request) messagesapi.Turn {
	edit := func(old, new string) messagesapi.Turn {
		return call("Edit", fmt.Sprintf(`{"file_path":"calc/calc.go","old_string":%q,"new_string":%q}`, old, new))
	}
	const broken, wrong = "sum / len(numbers)", "sum / (len(numbers) + 1)"
	switch {
	case strings.Contains(r.Prompt(), "still fail"):
		return edit(wrong, "sum / max(len(numbers), 1)")
	case r.Turn() == 1:
		return call("Read", `{"file_path":"calc/calc.go"}`)
	case r.Turn() == 2:
		return edit(broken, wrong)
	}
	return say("I changed how Mean divides.")
}
