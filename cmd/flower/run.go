package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/shell"
	"github.com/flowerlua/flower/internal/live"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/settings"
	"github.com/flowerlua/flower/store"
)

// source is where the model's answers come from.
type source struct {
	model      model.Model
	rehearsal  model.Model         // the model where it is a rehearsal, else nil
	credential settings.Credential // where it is the provider
	name       string              // the model for specs that name none
	aliases    map[string]string
	sub        string
	effort     string
	endpoint   string
	note       string // for the closing line
	warning    string // said at the beginning; empty: nothing
	close      func()
	recording
}

// bed is everything that a run needs, opened.
type bed struct {
	rt    *engine.Runtime
	db    *store.Store
	src   *source
	sinks *sinks
	talk  *conversation // nil: nobody can type
	aside *aside
	live  *live.Server // nil: nobody can attach
	pause pause
	start time.Time
	end   func()     // what the app has set up for the run
	trace *traceSink // nil: no spans are sent
}

// open makes a bed. Everything that can be wrong with the command is found before
// a folder is made.
func (a *app) open(c *cli, script string, adjust func(*bed, *engine.Config)) (_ *bed, err error) {
	workspace, runDir, err := c.places()
	if err != nil {
		return nil, err
	}
	b := &bed{start: time.Now(), end: keepPipes()}
	if b.src, err = c.source(workspace, runDir); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if b.trace, err = startTrace(os.Getenv, a.complain); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := a.makeWorkspace(c, workspace); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := c.record(b, workspace, runDir); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if b.db, err = store.Open(filepath.Join(runDir, "sessions"), nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%w (-r names another run directory)", err), b.close())
	}
	pruneOutputs(filepath.Join(runDir, "output"), b.start, outputsMost)
	if b.sinks, err = a.openSinks(c); err != nil {
		return nil, errors.Join(err, b.close())
	}
	config := engine.Config{
		Workspace: workspace, RunDir: runDir, Store: b.db, Harness: c.newHarness(b.src, runDir),
		Model: b.src.name, Endpoint: b.src.endpoint, Sink: b.telling(b.sinks), Lang: c.Lang,
		Sleep: b.src.sleep, Own: c.own(), Realm: b.src.realm(), Apart: b.src.player != nil, // what was played must not pass for what was done
	}
	if adjust != nil {
		adjust(b, &config)
	}
	if b.rt, err = engine.New(config); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.sinks.screen.say(b.src.warning)
	b.aside = c.newAside(b)
	a.talk(c, b)
	a.begin(b, script)
	return b, nil
}

// settle delivers the last events.
func (b *bed) settle() {
	b.rt.Close()
	b.sinks.settle()
}

// close ends the run's parts, those that were opened.
func (b *bed) close() error {
	defer b.end()
	if b.talk != nil {
		b.talk.end()
	}
	if b.live != nil {
		b.live.Stop()
	}
	if b.aside != nil {
		b.aside.close()
	}
	if b.rt != nil {
		b.settle()
	}
	var err error
	if b.sinks != nil {
		b.sinks.screen.stop()
	}
	b.trace.flush()
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	if b.src != nil {
		b.src.close()
		err = errors.Join(err, b.src.recording.close())
	}
	return err
}

// runScript runs a script's workflow.
func (a *app) runScript(ctx context.Context, c *cli, args []string) error {
	c.scriptArgs = args
	program, err := luabind.LoadFile(c.Run.Script, c.luaOptions(nil))
	if err != nil {
		return err
	}
	return a.runProgram(ctx, c, c.Run.Script, program, args, nil)
}

func (c *cli) luaOptions(values map[string]any) *luabind.Options {
	return &luabind.Options{Fresh: c.Fresh, From: c.From, Trust: c.Trust, ComputeLimit: c.ComputeLimit, Values: values}
}

func (a *app) runProgram(ctx context.Context, c *cli, script string, program *luabind.Program, args []string, adjust func(*bed, *engine.Config)) (err error) {
	b, err := a.open(c, script, adjust)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ending, err := program.Run(ctx, b.rt, args)
	b.settle()
	a.end.fill(b.rt, ending, time.Since(b.start))
	if err != nil {
		b.sinks.screen.stop()
		return b.ended(ctx, false, a.explain(ctx, c, err))
	}
	return b.ended(ctx, ending.OK, b.sinks.screen.closing(ctx, b.rt, ending, b.src.note, time.Since(b.start)))
}

// explain keeps a script's error, with its backtrace for -v; a stop from outside
// is no error of the script.
func (a *app) explain(ctx context.Context, c *cli, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, engine.ErrNoStep) && c.From != "" {
		return wrongUse("--from: %v", err)
	}
	var scriptErr *luabind.Error
	if errors.As(err, &scriptErr) && scriptErr.Code == luabind.CodeUsage {
		return wrongUse("%s", scriptErr.Message)
	}
	if c.Verbose && errors.As(err, &scriptErr) && scriptErr.Backtrace() != "" {
		fmt.Fprintln(a.err, clean(scriptErr.Backtrace()))
	}
	return err
}

func (c *cli) newHarness(src *source, runDir string) harness.Harness {
	if c.Harness == "claude" {
		return claudecode.New(claudecode.Config{
			Model: src.rehearsal, Info: src.model.Info, BaseURL: src.credential.BaseURL, Key: src.credential.APIKey, Token: src.credential.AuthToken,
			Aliases: src.aliases, SubagentModel: src.sub, Effort: src.effort, Ephemeral: shell.Ephemeral,
		})
	}
	return native.New(native.Config{
		Model: src.model, Aliases: src.aliases, SubagentModel: src.sub, Effort: src.effort,
		Ephemeral: shell.Ephemeral, OutputDir: filepath.Join(runDir, "output"), Sleep: src.sleep,
	})
}

// places are the absolute workspace and run directory.
func (c *cli) places() (workspace, runDir string, err error) {
	if workspace, err = filepath.Abs(c.Workspace); err != nil {
		return "", "", wrongUse("workspace %s: the current folder is not there any more (%v): cd into another", c.Workspace, err)
	}
	if info, err := os.Stat(workspace); err == nil && !info.IsDir() {
		return "", "", wrongUse("workspace %s is not a folder", workspace)
	}
	runDir = c.RunDir
	if runDir == "" {
		runDir = filepath.Join(workspace, "runs")
	}
	if runDir, err = filepath.Abs(runDir); err != nil {
		return "", "", wrongUse("run directory %s: %v", c.RunDir, err)
	}
	return workspace, runDir, nil
}

// source is a recording, a rehearsal, or the provider with what the settings say.
func (c *cli) source(workspace, runDir string) (*source, error) {
	if c.Playback != "" {
		return c.playedBack(workspace, runDir)
	}
	if c.Rehearse != "" {
		r, err := luabind.LoadRehearsal(c.Rehearse, c.luaOptions(nil))
		if err != nil {
			return nil, err
		}
		return &source{model: r, rehearsal: r, name: c.Model, note: "rehearsed", close: r.Close}, nil
	}
	s, problems, err := c.readSettings(workspace)
	if err != nil {
		return nil, err
	}
	credential, err := s.Credential()
	if errors.Is(err, settings.ErrNoCredential) {
		return nil, fmt.Errorf("%w\nTo try the script without a key, rehearse it: flower --rehearse FILE.lua %s", err, cmp.Or(c.Run.Script, "…"))
	}
	if err != nil {
		return nil, err
	}
	if credential.Ignored != "" {
		problems = append(problems, fmt.Sprintf("! %s of %s is not used: the key comes from %s, and a key is only sent to an address from the same place",
			settings.BaseURL, credential.Ignored, credential.Origin))
	}
	return &source{
		warning:    strings.Join(problems, "\n"),
		model:      anthropic.New(&anthropic.Options{Key: credential.APIKey, Token: credential.AuthToken, BaseURL: credential.BaseURL}),
		credential: credential,
		name:       cmp.Or(c.Model, s.Get(settings.Model)),
		aliases:    s.Aliases(),
		sub:        s.Get(settings.SubagentModel),
		effort:     s.Get(settings.Effort),
		endpoint:   cmp.Or(credential.BaseURL, anthropic.DefaultBaseURL),
		note:       strings.TrimSpace("key from " + credential.Origin),
		close:      func() {},
	}, nil
}

// sinks are where a run's events go, each behind a queue of its own: one that blocks
// holds up no other.
type sinks struct {
	fan    *event.Fanout
	screen *screen
	recent *recent
	onAsk  func() // told of each question; nil: nobody
	// hide: the event is not shown to a person, who is told otherwise; nil: all are.
	hide func(event.Event) bool
}

// lastEvents is how long a sink may take for the last events.
const lastEvents = 2 * time.Second

// Emit takes an event of the run.
func (s *sinks) Emit(e event.Event) {
	e = fromScript(e)
	s.recent.Emit(e)
	s.fan.Emit(e)
}

// show prints an event.
func (s *sinks) show(e event.Event) {
	if s.hide == nil || !s.hide(e) {
		s.screen.Emit(e)
	}
	if e.Kind == event.Ask && e.Payload["state"] == "asked" && s.onAsk != nil {
		s.onAsk()
	}
}

// settle waits until the last events are delivered, if the sinks still take them.
func (s *sinks) settle() { s.fan.CloseWithin(lastEvents) }

// openSinks opens the file of --events, too.
func (a *app) openSinks(c *cli) (*sinks, error) {
	if c.Events == "-" {
		a.streams = append(a.streams, newStream("--events", guarded{a.out, a.signals}, nil))
	} else if c.Events != "" {
		f, err := os.OpenFile(c.Events, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return nil, fmt.Errorf("--events: %w", err)
		}
		a.streams = append(a.streams, newStream("--events", f, f))
	}
	s := &sinks{fan: event.NewFanout(nil), recent: &recent{}, screen: newScreen(a.openConsole(c), c.Verbose)}
	s.screen.quiet = c.JSON
	s.fan.Add(event.SinkFunc(s.show))
	return s, nil
}

// openConsole gives the one console of the process. Where standard output carries a
// stream, what a person reads goes to standard error; with --json that is little, and
// nobody edits a line there.
func (a *app) openConsole(c *cli) *console {
	if a.console == nil {
		human, in := a.out, a.in
		if c.Events == "-" || c.JSON {
			human = a.err
		}
		if a.drained {
			in = nil
		}
		out := guarded{human, a.signals}
		if c.JSON {
			human = nil
		}
		a.console = newConsole(in, human, out)
		a.signals.before(a.console.close)
	}
	return a.console
}
