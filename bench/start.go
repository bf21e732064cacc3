package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowerlua/flower/internal/messagesapi"
)

//go:embed testdata/hello.lua
var hello string

// What the literature says of one short turn against a double, each program on its
// own machine.
var (
	publishedStart  = map[string]quantity{"Claude Code": seconds(1.15), "pi": seconds(1.45), "opencode": seconds(4.8)}
	publishedMemory = map[string]quantity{"Claude Code": mebibytes(298), "pi": mebibytes(172), "opencode": mebibytes(590)}
	publishedNames  = []string{"Claude Code", "pi", "opencode"}
)

func publishedAll(got sample, values map[string]quantity) []anchor {
	var all []anchor
	for _, name := range publishedNames {
		all = append(all, published(name, got, values[name]))
	}
	return all
}

// start is `flower hello.lua` as a person types it, with a double for the model.
func start(e *env) ([]table, error) {
	flower, err := e.build()
	if err != nil {
		return nil, err
	}
	s, err := newStarter(e, flower)
	if err != nil {
		return nil, err
	}
	defer s.api.Close()

	bare, err := s.bare(e.rounds(15))
	if err != nil {
		return nil, err
	}
	fresh, err := s.measure(e.rounds(15), func() (string, error) { return e.folder("start") })
	if err != nil {
		return nil, err
	}
	old, err := e.folder("start-again")
	if err != nil {
		return nil, err
	}
	if _, err := s.turn(old); err != nil {
		return nil, err
	}
	again, err := s.measure(e.rounds(15), func() (string, error) { return old, nil })
	if err != nil {
		return nil, err
	}
	return []table{s.table(bare, fresh, again)}, nil
}

// build makes the flower command as it would be installed.
func (e *env) build() (string, error) {
	path := filepath.Join(e.dir, "flower")
	cmd := exec.CommandContext(e.ctx, "go", "build", "-o", path, "./cmd/flower")
	cmd.Dir = e.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("flower does not build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, nil
}

// starter runs the command and sees its first request arrive.
type starter struct {
	e       *env
	flower  string
	script  string
	home    string
	api     *messagesapi.Server
	arrived chan time.Time
}

func newStarter(e *env, flower string) (*starter, error) {
	home, err := e.folder("home")
	if err != nil {
		return nil, err
	}
	s := &starter{e: e, flower: flower, home: home, script: filepath.Join(home, "hello.lua"), arrived: make(chan time.Time, 1)}
	if err := os.WriteFile(s.script, []byte(hello), 0o644); err != nil {
		return nil, err
	}
	s.api, err = messagesapi.Start(&messagesapi.Options{LogEntries: 1, Script: func(messagesapi.Request) messagesapi.Turn {
		select {
		case s.arrived <- time.Now():
		default:
		}
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("Hello.")}}
	}})
	return s, err
}

// startup is what one run of the command took.
type startup struct {
	first, whole, cpu time.Duration
	peak              int64
}

// command is the flower command in a folder, with nothing of this machine's settings.
func (s *starter) command(workspace string, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.e.ctx, s.flower, words...)
	cmd.Dir = workspace
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL=" + s.api.URL()}
	cmd.WaitDelay = time.Second
	return cmd
}

func (s *starter) turn(workspace string) (startup, error) {
	cmd := s.command(workspace, s.script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	whole := time.Since(begin)
	if err != nil {
		return startup{}, fmt.Errorf("flower hello.lua: %w\n%s", err, strings.TrimSpace(out.String()))
	}
	select {
	case at := <-s.arrived:
		return startup{first: at.Sub(begin), whole: whole, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak: peakOf(cmd.ProcessState)}, nil
	default:
		return startup{}, fmt.Errorf("flower hello.lua sent no request\n%s", strings.TrimSpace(out.String()))
	}
}

func (s *starter) measure(n int, workspace func() (string, error)) ([]startup, error) {
	var all []startup
	for range n {
		dir, err := workspace()
		if err != nil {
			return nil, err
		}
		one, err := s.turn(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// bare is how long the command takes when it has nothing to do.
func (s *starter) bare(n int) ([]float64, error) {
	var all []float64
	for range n {
		begin := time.Now()
		if err := s.command(s.home, "version").Run(); err != nil {
			return nil, fmt.Errorf("flower version: %w", err)
		}
		all = append(all, time.Since(begin).Seconds())
	}
	return all, nil
}

func (s *starter) table(bare []float64, fresh, again []startup) table {
	pick := func(runs []startup, u unit, f func(startup) float64) sample {
		var values []float64
		for _, r := range runs {
			values = append(values, f(r))
		}
		return summarize(values, u)
	}
	first := func(r startup) float64 { return r.first.Seconds() }
	whole := func(r startup) float64 { return r.whole.Seconds() }
	cpu := func(r startup) float64 { return r.cpu.Seconds() }
	peak := func(r startup) float64 { return float64(r.peak) }
	inNew, inOld, space := pick(fresh, second, first), pick(again, second, first), pick(fresh, byteUnit, peak)

	t := table{title: "Start: flower hello.lua, one short turn against a double on the loopback", rows: []row{
		{what: "exec to the first request, new folder", got: inNew, anchors: publishedAll(inNew, publishedStart), reach: goal{atMost: seconds(0.050)}},
		{what: "exec to the first request, folder of earlier runs", got: inOld, reach: goal{atMost: seconds(0.050)}},
		{what: "flower version, for comparison", got: summarize(bare, second)},
		{what: "exec to exit", got: pick(fresh, second, whole)},
		{what: "processor time of the whole turn", got: pick(fresh, second, cpu)},
		{what: "peak memory", got: space, anchors: publishedAll(space, publishedMemory), reach: goal{atMost: memory(40e6)}},
	}}
	if float64(ownPeak()) >= space.median.value {
		t.notes = append(t.notes, "peak memory is no more than this; the bench's own peak hides the true figure")
	}
	return t
}
