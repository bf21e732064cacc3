package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/luabind"
)

// replayCommand evaluates a script's gates on what was recorded.
type replayCommand struct {
	Script string   `arg:"" name:"script.lua" help:"The script."`
	Args   []string `arg:"" optional:"" help:"Its arguments, as for a run."`
	Step   string   `placeholder:"STEP" help:"The only step to show."`
	Run    string   `placeholder:"RUN" help:"The beginning of the id of the run whose results are taken, or last; for each step the newest that has a result by default."`
	Watch  bool     `help:"Evaluate again when the script, or another one beside it, changes."`
}

// watchEvery is how often --watch looks for changes.
const watchEvery = 200 * time.Millisecond

// replay evaluates once, or again and again until somebody stops it, which is then
// no failure.
func (a *app) replay(ctx context.Context, c *cli) error {
	if err := checkScript(c.Replay.Script); err != nil {
		return err
	}
	if !c.Replay.Watch {
		err := a.replayOnce(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	err := a.replayWatch(ctx, c)
	if errors.Is(err, errInterrupted) {
		return nil
	}
	return err
}

func (a *app) replayWatch(ctx context.Context, c *cli) error {
	for {
		before := scriptState(c.Replay.Script)
		err := a.replayOnce(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			a.report(err)
		}
		var said io.Writer = a
		if c.JSON {
			said = a.err
		}
		fmt.Fprintf(said, "-- waiting for a change of %s (Ctrl-C ends)\n", clean(c.Replay.Script))
		if err := waitForChange(ctx, c.Replay.Script, before); err != nil {
			return err
		}
		fmt.Fprintln(said)
	}
}

func (a *app) replayOnce(ctx context.Context, c *cli) (err error) {
	workspace, runDir, err := c.existing()
	if err != nil {
		return err
	}
	rows, err := readManifest(runDir)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("there are no recorded results in %s: run the script first (name another place with -w or -r)", shownPath(runDir))
	}
	o := engine.ReplayOptions{Rows: rows, Step: c.Replay.Step}
	if c.Replay.Run != "" {
		chosen, err := choose(byRun(rows), c.Replay.Run, false)
		if err != nil {
			return err
		}
		o.Run, rows = chosen[0].id, chosen[0].rows
	}
	program, err := luabind.LoadFile(c.Replay.Script, c.luaOptions(nil))
	if err != nil {
		return err
	}
	rt, done, err := idleRuntime(engine.Config{Workspace: workspace, Lang: c.Lang, Harness: engine.Recorded(rows), Sink: event.SinkFunc(a.tellReplay)})
	if err != nil {
		return err
	}
	found, err := program.Replay(ctx, rt, c.Replay.Args, o)
	err = errors.Join(err, done())
	show := a.printAttempt
	if c.JSON {
		show = a.writeAttempt
	}
	failed := a.showReplayed(found, o, show)
	if errors.Is(err, engine.ErrNoStep) {
		return wrongUse("--step: %v", err)
	}
	if err != nil {
		return err
	}
	return failed
}

// tellRun says on standard error which run the results come from, and why not from
// a newer one.
func (a *app) tellRun(r engine.Replayed, o engine.ReplayOptions) {
	why := ""
	for _, row := range slices.Backward(o.Rows) {
		if row.Run == r.Result.Run || o.Run != "" {
			break
		}
		if base, _, _ := strings.Cut(row.Step, "#"); base == r.Step {
			why = fmt.Sprintf(" (run %s is newer and has no result: %s)", row.Run, oneLine(clean(row.Error)))
			break
		}
	}
	fmt.Fprintf(a.err, "results of run %s%s\n", r.Result.Run, why)
}

// tellReplay shows what a callback logs.
func (a *app) tellReplay(e event.Event) {
	if e.Kind == event.Task && e.Text != "" {
		fmt.Fprintf(a.err, "  | %s\n", clean(e.Text))
	}
}

// verdicts are the words for what a callback says now, and what was said when it was
// recorded.
var verdicts = map[engine.Verdict]string{
	engine.VerdictPass: "passed", engine.VerdictReject: "rejected", engine.VerdictAbort: "aborted", engine.VerdictBroken: "broken",
}

// showReplayed shows each attempt; the error counts the steps whose last attempt
// does not pass.
func (a *app) showReplayed(all []engine.Replayed, o engine.ReplayOptions, show func(engine.Replayed)) error {
	last := map[string]engine.Verdict{}
	run := ""
	for _, r := range all {
		last[r.Step] = r.Verdict
		if of := r.Result.Run; of != "" && of != run {
			run = of
			a.tellRun(r, o)
		}
		show(r)
	}
	failed := 0
	for _, v := range last {
		if v != engine.VerdictPass && v != engine.VerdictSkip && v != engine.VerdictNone {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s would not pass", counted(failed, "step"))
	}
	return nil
}

// replayedLine is an attempt for programs.
type replayedLine struct {
	Step      string         `json:"step"`
	Label     string         `json:"label,omitempty"` // of the attempt; empty: none is recorded
	Run       string         `json:"run,omitempty"`
	SessionID string         `json:"session_id,omitempty"`
	Verdict   engine.Verdict `json:"verdict"`
	Was       string         `json:"was,omitempty"` // what the gate made of it when it was recorded
	Reason    string         `json:"reason,omitempty"`
	Sent      string         `json:"sent,omitempty"` // back to the session; empty where the step would start over
	Value     string         `json:"value,omitempty"`
}

func (a *app) writeAttempt(r engine.Replayed) {
	line, err := json.Marshal(replayedLine{r.Step, r.Result.Step, r.Result.Run, r.Result.SessionID, r.Verdict, r.Result.Gate, r.Reason, r.Sent, r.Value})
	if err == nil { // texts can be encoded
		fmt.Fprintf(a, "%s\n", line)
	}
}

func (a *app) printAttempt(r engine.Replayed) {
	label, then := r.Result.Step, ""
	if label == "" {
		label = r.Step
	}
	if was := r.Result.Gate; was != "" && was != verdicts[r.Verdict] {
		then = " (it was " + was + ")"
	}
	fmt.Fprintf(a, "%-7s %s%s\n", r.Verdict, clean(label), clean(then))
	switch r.Verdict {
	case engine.VerdictSkip:
		a.block("why", "when says no")
	case engine.VerdictNone:
		a.block("why", "nothing is recorded of this step")
	case engine.VerdictPass:
		if r.Value != r.Result.Text {
			a.block("keeps", r.Value)
		}
	default:
		a.block("why", r.Reason)
	}
	switch {
	case r.Sent != "":
		a.block("sends back", r.Sent)
	case r.Verdict == engine.VerdictReject || r.Verdict == engine.VerdictFail:
		a.block("sends back", "nothing: the step would start over")
	}
}

// block prints a text behind its name, further lines below it.
func (a *app) block(name, text string) {
	text = strings.ReplaceAll(strings.TrimRight(clean(text), "\n"), "\n", "\n              ")
	fmt.Fprintf(a, "  %-11s %s\n", name+":", text)
}

// maxWatched bounds how many entries of the script's folder are looked at.
const maxWatched = 5000

// scriptState changes when the script does, or another one in its folder or below.
func scriptState(script string) string {
	var b strings.Builder
	add := func(path string) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	add(script)
	dir, seen := filepath.Dir(script), 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be read has not changed
		seen++
		switch {
		case seen > maxWatched:
			return filepath.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "runs"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".lua":
			add(path)
		}
		return nil
	})
	return b.String()
}

func waitForChange(ctx context.Context, script, before string) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if scriptState(script) != before {
				return nil
			}
		}
	}
}
