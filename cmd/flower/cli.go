package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flowerlua/flower/internal/spell"
)

// globals are the flags that stand before the first word.
type globals struct {
	Workspace string `short:"w" placeholder:"DIR" default:"." help:"Folder the agents work in."`
	RunDir    string `short:"r" placeholder:"DIR" help:"Folder for accounts and transcripts (default: runs in the workspace)."`
	Verbose   bool   `short:"v" help:"Show thinking, tool results, subagents and where settings come from."`
	Harness   string `placeholder:"NAME" enum:"native,claude" default:"native" help:"What does the work: native, or claude (drives the Claude Code CLI)."`
	Model     string `placeholder:"NAME" help:"Model for agents that name none."`
	Rehearse  string `placeholder:"FILE" help:"Let a Lua function play the model: no key, no network."`
	Events    string `placeholder:"FILE" help:"Write events as JSON Lines to a file, or to standard output (-)."`
	Fresh     bool   `help:"Run every step in a new session, whatever earlier runs left."`
	From      string `placeholder:"STEP" help:"Begin at a step, with the recorded results of those before it."`
	Trust     bool   `help:"Give the script Lua's io and os."`
	Lang      string `placeholder:"LANG" env:"FLOWER_LANG" enum:"en,zh" default:"en" help:"Language of what flower writes and tells agents: en or zh."`

	ComputeLimit time.Duration `placeholder:"TIME" default:"60s" help:"How long Lua may compute between two calls into the engine (60s)."`
}

// cli is the whole command line. The script's own arguments never get here.
type cli struct {
	globals

	Run        runCommand        `cmd:"" help:"Run a script (the word run can be left out)."`
	Go         goCommand         `cmd:"" help:"Clarify, set a goal and work under a judge (the word go can be left out)."`
	Once       onceCommand       `cmd:"" help:"Run one agent on one prompt."`
	Sessions   sessionsCommand   `cmd:"" help:"List, show, export, import, fork, delete, check and back up sessions."`
	Runs       runsCommand       `cmd:"" help:"Show the accounts, or where the context went."`
	Setup      setupCommand      `cmd:"" help:"Ask for key, gateway and model, try them, and write them down."`
	Init       initCommand       `cmd:"" help:"Make a first script with its rehearsal and what an editor wants."`
	Check      checkCommand      `cmd:"" help:"Say what cannot work in scripts, without running them."`
	Replay     replayCommand     `cmd:"" help:"Evaluate a script's gates on recorded results, without a model."`
	Doctor     doctorCommand     `cmd:"" help:"Show settings with their origins, and what is off."`
	Completion completionCommand `cmd:"" help:"Print what makes a shell complete the words of flower."`
	Version    versionCommand    `cmd:"" help:"Show the version."`
}

type runCommand struct {
	Script string `arg:"" help:"The Lua script."`
}

type versionCommand struct{}

const description = `Runs workflows of agents that are written in Lua.

  flower script.lua [args…]     everything behind the script is the script's
  flower "make me X"            clarifies, sets a goal, works under a judge
  flower once "do X"            one agent, one prompt

A first script:

  local helper = flower.agent{ name = "helper", allowed_tools = { "Read", "Write", "Bash" } }
  return flower.workflow{ steps = {
    flower.step{ name = "hello", spec = helper, prompt = "Write a haiku to haiku.txt.",
      gate = function() return flower.fs.exists("haiku.txt"), "haiku.txt is not there" end },
  } }

Set ANTHROPIC_API_KEY to run it, or rehearse it without a key: --rehearse FILE.`

// subcommands are the words that are not scripts.
var subcommands = []string{"run", "go", "once", "sessions", "runs", "setup", "init", "check", "replay", "doctor", "completion", "version"}

func newParser(c *cli, out, errOut *writerPair) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("flower"),
		kong.Description(description),
		kong.Writers(out, errOut),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
}

// helpShown unwinds from kong after it printed help.
type helpShown struct{}

// writerPair makes the app's writer one that kong takes.
type writerPair struct{ write func([]byte) (int, error) }

func (w *writerPair) Write(p []byte) (int, error) { return w.write(p) }

// dispatch classifies the words and runs the command.
func (a *app) dispatch(ctx context.Context, words []string) (err error) {
	c := &cli{}
	parser, err := newParser(c, &writerPair{a.out.Write}, &writerPair{a.err.Write})
	if err != nil {
		return err
	}
	own, scriptArgs, err := split(words, takesValue(parser))
	if err == nil {
		err = refuseEmpty(own, takesValue(parser))
	}
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(helpShown); !ok {
				panic(p)
			}
			err = nil
		}
	}()
	parsed, err := parser.Parse(own)
	if err != nil {
		return wrongUse("%v (see flower --help)", err)
	}
	if c.Fresh && c.From != "" {
		return wrongUse("--fresh and --from exclude each other: fresh runs every step, from begins at one")
	}
	switch command, rest, _ := strings.Cut(parsed.Command(), " "); command {
	case "go":
		return a.runStarter(ctx, c)
	case "once":
		return a.runOnce(ctx, c)
	case "sessions":
		sub, _, _ := strings.Cut(rest, " ")
		return a.sessions(ctx, c, sub)
	case "runs":
		return a.runs(ctx, c)
	case "setup":
		return a.setup(ctx, c)
	case "init":
		return a.makeFirst(c)
	case "check":
		return a.check(ctx, c)
	case "replay":
		return a.replay(ctx, c)
	case "doctor":
		return a.doctor(ctx, c)
	case "completion":
		return a.completion(c)
	case "version":
		fmt.Fprintln(a.out, versionText())
		return nil
	default:
		return a.runScript(ctx, c, scriptArgs)
	}
}

// takesValue tells of a flag, as typed without its value, whether the next word
// is its value; known is false for a flag there is not.
func takesValue(parser *kong.Kong) func(flag string) (value, known bool) {
	values := map[string]bool{"--help": false, "-h": false}
	flags := slices.Clone(parser.Model.Flags)
	for _, command := range parser.Model.Children {
		if command.Name == "go" { // whose name can be left out
			flags = append(flags, command.Flags...)
		}
	}
	for _, f := range flags {
		values["--"+f.Name] = !f.IsBool()
		if f.Short != 0 {
			values["-"+string(f.Short)] = !f.IsBool()
		}
	}
	return func(flag string) (bool, bool) {
		value, known := values[flag]
		return value, known
	}
}

// refuseEmpty reports a flag whose value is empty: mostly a variable of the shell
// that is not set, which must not mean the default.
func refuseEmpty(own []string, takesValue func(string) (value, known bool)) error {
	for i, word := range own {
		flag, text, joined := strings.Cut(word, "=")
		value, _ := takesValue(flag)
		if value && (joined && text == "" || !joined && i+1 < len(own) && own[i+1] == "") {
			return wrongUse("%s is empty; leave it out, or give it a value", flag)
		}
	}
	return nil
}

// split parts what is ours from what is the script's. The first word behind the
// flags decides: a subcommand, else a script. kong sees only what is ours.
func split(words []string, takesValue func(string) (value, known bool)) (own, script []string, err error) {
	at := firstWord(words, takesValue)
	if at == len(words) {
		if slices.ContainsFunc(words, isHelp) {
			return words, nil, nil
		}
		return append([]string{"go"}, words...), nil, nil
	}
	word := words[at]
	if word == "run" {
		next := at + 1 + firstWord(words[at+1:], takesValue)
		if next == len(words) {
			return words, nil, nil // kong says what is missing
		}
		return words[:next+1], words[next+1:], checkScript(words[next])
	}
	if word == "sessions" {
		return words, nil, checkSessionsWord(words[at+1:])
	}
	if slices.Contains(subcommands, word) {
		return words, nil, nil
	}
	script, err = words[at+1:], nil
	isScript, err := classify(word, script)
	if err != nil {
		return nil, nil, err
	}
	if !isScript {
		return append([]string{"go"}, words...), nil, nil
	}
	return append(slices.Clone(words[:at]), "run", word), script, nil
}

func isHelp(word string) bool { return word == "--help" || word == "-h" }

// firstWord is the index of the first word that is neither a flag nor a flag's
// value.
func firstWord(words []string, takesValue func(string) (value, known bool)) int {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			return i
		}
		if value, known := takesValue(w); known && value {
			i++
		}
	}
	return len(words)
}

// classify tells a script from an ask. One bare word that nearly is a command or a
// script is an error: a typing slip must not start a paid run.
func classify(word string, rest []string) (script bool, err error) {
	if strings.HasSuffix(word, ".lua") {
		return true, checkScript(word)
	}
	if info, err := os.Stat(word); err == nil && !info.IsDir() {
		return true, nil
	}
	if word == "--" || strings.ContainsAny(word, " \t\n") || slices.ContainsFunc(rest, func(w string) bool { return !strings.HasPrefix(w, "-") }) {
		return false, nil
	}
	if match, ok := spell.Near(word, append(luaFiles(), subcommands...)); ok {
		return false, wrongUse("%q is neither a command nor a script — did you mean %q? To have it made: flower go %s", word, match, word)
	}
	return false, nil
}

// checkScript reports a script that is not there, with the near match.
func checkScript(path string) error {
	if _, err := os.Stat(path); err == nil || !os.IsNotExist(err) {
		return nil // what else may be wrong is said when it is read
	}
	return wrongUse("there is no script %s%s", path, spell.Hint(path, luaFiles()))
}

// luaFiles are the scripts in the current folder.
func luaFiles() []string {
	var names []string
	entries, _ := os.ReadDir(".") // without a list there is no near match
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".lua") {
			names = append(names, e.Name())
		}
	}
	return names
}
