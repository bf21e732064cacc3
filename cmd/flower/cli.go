package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flowerlua/flower/luabind"
)

// globals are the flags that stand before the first word.
type globals struct {
	Workspace string `short:"w" placeholder:"DIR" default:"." help:"Folder the agents work in."`
	RunDir    string `short:"r" placeholder:"DIR" help:"Folder for accounts and transcripts (default: runs in the workspace)."`
	Verbose   bool   `short:"v" help:"Show thinking, results of tools, what subagents say, where a script failed and where settings come from."`
	Harness   string `placeholder:"NAME" enum:"native,claude" default:"native" help:"What does the work: native, or claude (drives the Claude Code CLI)."`
	Model     string `placeholder:"NAME" help:"Model for agents that name none."`
	Rehearse  string `placeholder:"FILE" help:"Let a Lua function play the model: no key, no network."`
	Record    string `placeholder:"DIR" help:"Keep every request and answer in a folder, for --playback."`
	Playback  string `placeholder:"DIR" help:"Let a recording answer: no key, no network. A request that is not the recorded one ends the run."`
	Events    string `placeholder:"FILE" help:"Write events as JSON Lines to a file, or to standard output (-)."`
	JSON      bool   `name:"json" help:"Print for programs: a run as JSON Lines, what other commands find as JSON."`
	Fresh     bool   `help:"Run every step in a new session, whatever earlier runs left."`
	From      string `placeholder:"STEP" help:"Begin at a step, with the recorded results of those before it."`
	Trust     bool   `help:"Give the script Lua's io and os."`
	Lang      string `placeholder:"LANG" env:"FLOWER_LANG" enum:"en,zh" default:"en" help:"Language of what flower writes and tells agents: en or zh."`

	ComputeLimit time.Duration `placeholder:"TIME" default:"60s" help:"How long Lua may compute between two calls into the engine (60s)."`
}

// cli is the whole command line. The script's own arguments never get here.
type cli struct {
	globals

	scriptArgs []string

	Run        runCommand        `cmd:"" help:"Run a script (the word run can be left out)."`
	Go         goCommand         `cmd:"" help:"Clarify, set a goal and work under a judge (the word go can be left out)."`
	Once       onceCommand       `cmd:"" help:"Run one agent on one prompt."`
	Sessions   sessionsCommand   `cmd:"" help:"List, show, export, import, fork, delete, check and back up sessions."`
	Runs       runsCommand       `cmd:"" help:"Show the accounts, or where the context went."`
	Attach     attachCommand     `cmd:"" help:"Look at a run that is at work, answer and steer it."`
	Setup      setupCommand      `cmd:"" help:"Ask for key, gateway and model, try them, and write them down."`
	Init       initCommand       `cmd:"" help:"Make a first script with its rehearsal and what an editor wants."`
	Check      checkCommand      `cmd:"" help:"Say what cannot work in scripts, without running them."`
	Replay     replayCommand     `cmd:"" help:"Evaluate a script's gates on recorded results, without a model."`
	Test       testCommand       `cmd:"" help:"Run tests of scripts, without a model."`
	Doctor     doctorCommand     `cmd:"" help:"Show settings with their origins, and what is off."`
	Completion completionCommand `cmd:"" help:"Print what makes a shell complete the words of flower."`
	Version    versionCommand    `cmd:"" help:"Show the version."`
}

type runCommand struct {
	Script string `arg:"" help:"The Lua script."`
}

type versionCommand struct{}

func newParser(c *cli, out, errOut *writerPair) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("flower"),
		kong.Description(description),
		kong.Writers(out, errOut),
		kong.Help(printHelp),
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
	g := newGrammar(parser)
	own, scriptArgs, err := g.split(words)
	if err == nil {
		own, err = g.values(own)
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
		return g.explain(err, own)
	}
	command, rest, _ := strings.Cut(parsed.Command(), " ")
	sub, _, _ := strings.Cut(rest, " ")
	if err := errors.Join(a.prepare(c, command, sub), checkUse(command, parsed), c.checkGiven()); err != nil {
		return err
	}
	switch command {
	case "go":
		return a.runStarter(ctx, c)
	case "once":
		return a.runOnce(ctx, c)
	case "sessions":
		return a.sessions(ctx, c, sub)
	case "runs":
		return a.runs(ctx, c)
	case "attach":
		return a.attach(ctx, c)
	case "setup":
		return a.setup(ctx, c)
	case "init":
		return a.makeFirst(c)
	case "check":
		return a.check(ctx, c)
	case "replay":
		return a.replay(ctx, c)
	case "test":
		return a.test(ctx, c)
	case "doctor":
		return a.doctor(ctx, c)
	case "completion":
		return a.completion(c)
	case "version":
		return a.version(c)
	default:
		if strings.HasSuffix(c.Run.Script, luabind.TestSuffix) {
			return wrongUse("%s holds tests: flower test %s", c.Run.Script, shellWord(c.Run.Script))
		}
		if err := a.checkBehind(c, g.root, scriptArgs); err != nil {
			return err
		}
		return a.runScript(ctx, c, scriptArgs)
	}
}

// split parts what is ours from what is the script's. The first word behind the
// flags decides: a subcommand, else a script. kong sees only what is ours.
func (g *grammar) split(words []string) (own, script []string, err error) {
	words = otherHelp(words)
	at := g.firstWord(words)
	if at == len(words) {
		if slices.ContainsFunc(words, isHelp) {
			return words, nil, nil
		}
		return append([]string{"go"}, words...), nil, nil
	}
	word := words[at]
	if word == "run" {
		next := at + 1 + g.firstWord(words[at+1:])
		if next == len(words) {
			return words, nil, nil // kong says what is missing
		}
		return words[:next+1], words[next+1:], checkScript(words[next])
	}
	if word == "sessions" {
		return words, nil, checkSessionsWord(words[at+1:])
	}
	if child(g.root, word) != nil {
		return words, nil, nil
	}
	script = words[at+1:]
	isScript, err := g.classify(word, script)
	if err != nil {
		return nil, nil, err
	}
	if !isScript {
		return append([]string{"go"}, words...), nil, nil
	}
	return append(slices.Clone(words[:at]), "run", word), script, nil
}

func isHelp(word string) bool { return word == "--help" || word == "-h" }

// otherHelp puts what other programs call their help and version into our words.
func otherHelp(words []string) []string {
	switch {
	case len(words) > 0 && words[0] == "help":
		return append(slices.Clone(words[1:]), "--help")
	case len(words) == 1 && words[0] == "--version":
		return []string{"version"}
	}
	return words
}
