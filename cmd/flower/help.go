package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

const description = `Runs workflows of agents that are written in Lua.

  flower script.lua [args…]   everything behind the script is the script's
  flower "make me X"          clarifies, sets a goal, works under a judge
                              (flower go --help has its flags)
  flower once "do X"          one agent, one prompt

A first script, first.lua:

  local helper = flower.agent{
    name = "helper", allowed_tools = { "Read", "Write", "Bash" },
  }
  return flower.workflow{ steps = {
    flower.step{
      name = "hello", spec = helper, prompt = "Write a haiku to haiku.txt.",
      gate = function()
        return flower.fs.exists("haiku.txt"), "haiku.txt is not there"
      end,
    },
  } }

Then flower first.lua runs it. What else a beginning needs:

  flower setup    asks for a key and tries it (or set ANTHROPIC_API_KEY)
  flower init     makes a script with its rehearsal: a Lua function plays
                  the model, so it runs without a key
  flower doctor   says what is missing`

// inUse are the global flags that mean something to a command; one that is not
// listed uses all of them.
var inUse = map[string][]string{
	"once":       {"workspace", "run-dir", "verbose", "harness", "model", "rehearse", "record", "playback", "events", "json", "lang", "compute-limit"},
	"sessions":   {"workspace", "run-dir", "verbose", "json"},
	"runs":       {"workspace", "run-dir", "json"},
	"setup":      {"workspace"},
	"init":       {"workspace"},
	"check":      {"workspace", "harness", "trust", "lang", "compute-limit", "json"},
	"test":       {"workspace", "verbose", "trust", "lang", "compute-limit", "json"},
	"replay":     {"workspace", "run-dir", "trust", "lang", "compute-limit", "json"},
	"doctor":     {"workspace", "run-dir", "harness", "lang", "json"},
	"attach":     {"workspace", "run-dir", "verbose", "json"},
	"completion": {},
	"version":    {"json"},
}

// means reports whether a global flag means something to a command.
func means(command, flag string) bool {
	uses, listed := inUse[command]
	return !listed || slices.Contains(uses, flag)
}

// printHelp shows a command's own flags first, then the global ones that mean
// something to it.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	for node.Parent.Parent != nil {
		node = node.Parent
	}
	rest := &kong.Group{Key: "global", Title: "Common flags:"}
	for _, f := range ctx.Model.Flags {
		f.Hidden = f.Hidden || f.Name != "help" && !means(node.Name, f.Name)
		f.Group = rest
	}
	return kong.DefaultHelpPrinter(options, ctx)
}
