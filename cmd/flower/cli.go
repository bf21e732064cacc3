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
	Model     string `placeholder:"NAME" help:"Model for agents that name none."`
	Rehearse  string `placeholder:"FILE" help:"Let a Lua function play the model: no key, no network."`
	Events    string `placeholder:"FILE" help:"Write events as JSON Lines to a file, or to standard output (-)."`
	Fresh     bool   `help:"Run every step in a new session, whatever earlier runs left."`
	From      string `placeholder:"STEP" help:"Begin at a step, with the recorded results of those before it."`
	Trust     bool   `help:"Give the script Lua's io and os."`

	ComputeLimit time.Duration `placeholder:"TIME" default:"60s" help:"How long Lua may compute between two calls into the engine (60s)."`
}

// cli is the whole command line. The script's own arguments never get here.
type cli struct {
	globals

	Run      runCommand      `cmd:"" help:"Run a script (the word run can be left out)."`
	Sessions sessionsCommand `cmd:"" help:"List, show, export, import, fork, delete, check and back up sessions."`
	Runs     runsCommand     `cmd:"" help:"Show the accounts, or where the context went."`
	Doctor   doctorCommand   `cmd:"" help:"Show settings with their origins, and what is off."`
	Version  versionCommand  `cmd:"" help:"Show the version."`
}

type runCommand struct {
	Script string `arg:"" help:"The Lua script."`
}

type versionCommand struct{}

const description = `Runs workflows of agents that are written in Lua.

  flower script.lua [args…]     everything behind the script is the script's

A first script:

  local helper = flower.agent{ name = "helper", allowed_tools = { "Read", "Write", "Bash" } }
  return flower.workflow{ steps = {
    flower.step{ name = "hello", spec = helper, prompt = "Write a haiku to haiku.txt.",
      gate = function() return flower.fs.exists("haiku.txt"), "haiku.txt is not there" end },
  } }

Set ANTHROPIC_API_KEY to run it, or rehearse it without a key: --rehearse FILE.`

// subcommands are the words that are not scripts.
var subcommands = []string{"run", "sessions", "runs", "doctor", "version"}

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
	switch command, rest, _ := strings.Cut(parsed.Command(), " "); command {
	case "sessions":
		sub, _, _ := strings.Cut(rest, " ")
		return a.sessions(ctx, c, sub)
	case "runs":
		return a.runs(ctx, c)
	case "doctor":
		return a.doctor(ctx, c)
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
	for _, f := range parser.Model.Flags {
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

// split parts what is ours from what is the script's. The first word behind the
// flags decides: a subcommand, else a script. kong sees only what is ours.
func split(words []string, takesValue func(string) (value, known bool)) (own, script []string, err error) {
	at := firstWord(words, takesValue)
	if at == len(words) {
		if len(words) == 0 || !slices.ContainsFunc(words, isHelp) {
			return nil, nil, wrongUse("name a script: flower script.lua (see flower --help)")
		}
		return words, nil, nil
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
	if err := classify(word, words[at+1:]); err != nil {
		return nil, nil, err
	}
	own = append(slices.Clone(words[:at]), "run", word)
	return own, words[at+1:], nil
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

// classify says what is wrong with a first word that is no subcommand, if it is
// no script either.
func classify(word string, rest []string) error {
	if strings.HasSuffix(word, ".lua") {
		return checkScript(word)
	}
	if info, err := os.Stat(word); err == nil && !info.IsDir() {
		return nil
	}
	candidates := append(luaFiles(), subcommands...)
	if match, ok := spell.Near(word, candidates); ok && len(rest) == 0 {
		return wrongUse("%q is neither a command nor a script — did you mean %q?", word, match)
	}
	return wrongUse("%q is neither a command nor a script: name a file that ends in .lua (see flower --help)", word)
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
