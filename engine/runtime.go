package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/atomicfile"
)

// sinkPatience is how long Close and the end of a Run wait for slow sinks.
const sinkPatience = 2 * time.Second

// base is what all runs of one Runtime share.
type base struct {
	config    Config
	workspace string
	runDir    string
	project   string
	freshID   bool // the project's id was made now
	view      transcript.Policy
	retry     failure.Policy
	watch     *failure.Watch // nil: nobody waits for the network
	manifest  *manifest
	fan       *event.Fanout
	now       func() time.Time
	sleep     func(ctx context.Context, d time.Duration) bool
	random    io.Reader
	apart     *memory // the lineage, where it is not the run directory's

	closed  atomic.Bool
	lost    lostEvents
	channel atomic.Pointer[human.Channel] // of the newest workflow that has one
	// degraded counts handoffs in a row that the model did not write.
	degraded atomic.Int32

	folders pluginFolders

	mu     sync.Mutex
	active map[*activeRun]struct{}
	asking map[string]*human.Channel // of the workflows that run, by run
}

func newRuntime(c Config) (*Runtime, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b := &base{config: c, now: c.Now, sleep: c.Sleep, random: c.Random, active: map[*activeRun]struct{}{}, asking: map[string]*human.Channel{}}
	if b.now == nil {
		b.now = time.Now
	}
	if b.sleep == nil {
		b.sleep = sleep
	}
	if b.random == nil {
		b.random = rand.Reader
	}
	b.view = DefaultView()
	if c.View != nil {
		b.view = *c.View
	}
	if c.Resilience != nil {
		b.retry = *c.Resilience
	}
	if err := b.makeFolders(); err != nil {
		return nil, err
	}
	b.manifest = newManifest(b.runDir, b.now)
	b.fan = event.NewFanout(&event.Options{Now: b.now})
	b.lost.open(c.Logger)
	if c.Sink != nil {
		b.fan.Add(c.Sink)
	}
	if c.Logger != nil {
		b.fan.Add(event.Log(c.Logger))
	}
	id, err := b.newRunID()
	if err != nil {
		return nil, err
	}
	if c.Apart {
		b.apart = &memory{id: id}
	}
	rt := &Runtime{base: b, id: id, bench: c.Workbench, plugins: c.Plugins}
	if c.Plugins != nil {
		if _, err := b.folders.load(b.workspace, c.Plugins); err != nil {
			return nil, fmt.Errorf("engine: Config.Plugins: %w", err)
		}
	}
	if c.Endpoint != "" {
		b.watch = &failure.Watch{Policy: b.retry, Reach: failure.Probe{Endpoint: c.Endpoint}.Reach, Notice: rt.networkNotice, Sleep: c.Sleep}
	}
	rt.tellLostID()
	return rt, nil
}

// networkNotice tells once that the network went, and once that it is back.
func (rt *Runtime) networkNotice(n failure.Notice) {
	text := fmt.Sprintf("the network is back after %v", n.Offline.Round(time.Second))
	if !n.Online {
		text = fmt.Sprintf("waiting for the network, %v at most: %v. If the address %s is wrong, end the run (Ctrl-C) and mend it (ANTHROPIC_BASE_URL)",
			n.Most, n.Err, withoutPassword(rt.config.Endpoint))
	}
	rt.emit(event.Event{Kind: event.Task, Text: text})
}

// withoutPassword is a URL as it may be shown.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of the provider"
	}
	return u.Redacted()
}

var errNoWorkspace = errors.New("engine: Config.Workspace is empty: name the folder the agents work in")

func (c *Config) check() error {
	switch {
	case c.Workspace == "":
		return errNoWorkspace
	case isNil(c.Harness):
		return errors.New("engine: Config.Harness is nil: make one with harness/native.New")
	case isNil(c.Store):
		return errors.New("engine: Config.Store is nil: open one with store.Open")
	}
	if c.Lang != "" && c.Lang != "en" && c.Lang != "zh" {
		return fmt.Errorf("engine: Config.Lang is %q; it is en or zh", c.Lang)
	}
	if c.Handoff != nil {
		if err := c.Handoff.Check(); err != nil {
			return err
		}
	}
	if err := c.checkBrought(); err != nil {
		return err
	}
	if c.Resilience != nil {
		return c.Resilience.Check()
	}
	return nil
}

// places are the absolute workspace and run directory.
func (c *Config) places() (workspace, runDir string, err error) {
	if workspace, err = filepath.Abs(c.Workspace); err != nil {
		return "", "", fmt.Errorf("workspace %s: %w", c.Workspace, err)
	}
	runDir = c.RunDir
	if runDir == "" {
		runDir = filepath.Join(workspace, "runs")
	}
	if runDir, err = filepath.Abs(runDir); err != nil {
		return "", "", fmt.Errorf("run directory %s: %w", c.RunDir, err)
	}
	return workspace, runDir, nil
}

// makeFolders makes workspace and run directory and reads or makes the
// project's id, which moves with the run directory.
func (b *base) makeFolders() error {
	workspace, runDir, err := b.config.places()
	if err != nil {
		return err
	}
	for _, dir := range []string{workspace, runDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	b.workspace, b.runDir = workspace, runDir
	if err := ignoreAll(runDir); err != nil {
		return err
	}
	b.project, err = b.projectID()
	return err
}

// ignoreAll keeps git away from a folder that is ours.
func ignoreAll(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(path); err == nil {
		return nil // a person's own stays
	}
	return atomicfile.Write(path, []byte("*\n"), 0o644)
}

func (b *base) projectID() (string, error) {
	var id string
	err := atomicfile.Update(filepath.Join(b.runDir, "id"), 0o644, func(old []byte) ([]byte, error) {
		if id = strings.TrimSpace(string(old)); id != "" {
			return nil, nil
		}
		fresh, err := b.hex(8)
		if err != nil {
			return nil, err
		}
		id, b.freshID = fresh, true
		return []byte(id + "\n"), nil
	})
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(id, "/\\\x00\n") || len(id) > 128 {
		return "", fmt.Errorf("%s does not hold an id (one word made by flower): restore it, or move the run directory away to start over",
			filepath.Join(b.runDir, "id"))
	}
	return id, nil
}

// hex is 2n random hex digits.
func (b *base) hex(n int) (string, error) {
	raw := make([]byte, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := io.ReadFull(b.random, raw); err != nil {
		return "", fmt.Errorf("random source: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

func (b *base) newRunID() (string, error) {
	suffix, err := b.hex(3)
	return b.now().Format("20060102-150405") + "-" + suffix, err
}

// float is a random number in [0, 1), for jitter.
func (b *base) float() float64 {
	var raw [4]byte
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := io.ReadFull(b.random, raw[:]); err != nil {
		return 0.5 // the middle of the jitter: a broken source is reported where ids are made
	}
	n := uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
	return float64(n) / (1 << 32)
}

// child is a Runtime for a run of its own that shares everything else.
func (rt *Runtime) child() (*Runtime, error) {
	id, err := rt.newRunID()
	if err != nil {
		return nil, err
	}
	return &Runtime{base: rt.base, id: id, parent: rt, bench: rt.bench, plugins: rt.plugins, human: rt.human, flow: rt.flow, asks: rt.asks}, nil
}

// hostTools are the tools that a spec may name beside the harness's own. Of two
// with one name the nearer to the spec counts.
func (rt *Runtime) hostTools(s *Spec) []tool.Tool {
	all := slices.Concat(s.Tools, rt.config.Tools, rt.human)
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t tool.Tool) bool {
		name := t.Definition().Name
		again := seen[name]
		seen[name] = true
		return again
	})
}

func (b *base) lang() string {
	if b.config.Lang == "" {
		return "en"
	}
	return b.config.Lang
}

func (rt *Runtime) emit(e event.Event) {
	e.Run = rt.id
	rt.fan.Emit(e)
}

// keep books a result, here and at the parent, and writes this run's rows.
func (rt *Runtime) keep(r Result) error {
	for p := rt.parent; p != nil; p = p.parent {
		p.ledger.add(r)
	}
	rt.ledger.add(r)
	return rt.writeManifest()
}

func (rt *Runtime) writeManifest() error {
	notice, err := rt.manifest.write(rt.id, func() []Result { return rt.ledger.of(rt.id) })
	if notice != "" {
		rt.emit(event.Event{Kind: event.Task, Text: notice})
	}
	return err
}

// judged notes what a gate made of the newest result of a label, here, at the
// parents and in the manifest.
func (rt *Runtime) judged(label, gate, reason string) error {
	reason = event.Cut(reason, event.MaxResultText)
	for p := rt; p != nil; p = p.parent {
		p.ledger.judged(rt.id, label, gate, reason)
	}
	return rt.writeManifest()
}

// ledger is results in order.
type ledger struct {
	mu      sync.Mutex
	results []Result
}

func (l *ledger) add(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r.clone())
}

// clone shares nothing with r.
func (r Result) clone() Result {
	r.Errors, r.Retired = slices.Clone(r.Errors), slices.Clone(r.Retired)
	if r.CostUSD != nil {
		usd := *r.CostUSD
		r.CostUSD = &usd
	}
	return r
}

func (l *ledger) judged(run, label, gate, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.results) - 1; i >= 0; i-- {
		if r := &l.results[i]; r.Run == run && r.Step == label {
			r.Gate, r.GateReason = gate, reason
			return
		}
	}
}

// of are the results of one run.
func (l *ledger) of(run string) (own []Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.results {
		if r.Run == run {
			own = append(own, r.clone())
		}
	}
	return own
}

func (l *ledger) all() []Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Result, len(l.results))
	for i, r := range l.results {
		all[i] = r.clone()
	}
	return all
}

func (l *ledger) cost() (sum float64, ok bool) {
	return sumCost(l.all())
}

func sumCost(results []Result) (sum float64, ok bool) {
	ok = true
	for _, r := range results {
		if r.CostUSD == nil {
			ok = false
			continue
		}
		sum += *r.CostUSD
	}
	return sum, ok
}
