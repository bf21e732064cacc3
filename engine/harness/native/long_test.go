package native_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// The shape of a long run that was really made: ten hours of a main thread that
// dispatches. Each subagent's turn is a call of Read.
const (
	longMain   = 70
	longSubs   = 23
	longTurns  = 130 // of each subagent
	longFiles  = 97
	longCutOff = 4000 // appends before the store breaks, as in a crash
)

// serverEnv makes the test binary serve the long run's model and nothing else.
const serverEnv = "FLOWER_TEST_SERVE"

var resumeHint = regexp.MustCompile(`resume \\?"([0-9a-f]{12})\\?"`)

// longScript plays the model of the long run.
func longScript(r api.Request) api.Turn {
	n := r.Turn()
	if isWorker(r) {
		if n >= longTurns {
			return says("Conclusion: done. Evidence: many files.")
		}
		return calls("Read", input("file_path", fmt.Sprintf("file%d.txt", n%longFiles)))
	}
	var pairs []string
	for _, text := range results(r) {
		if m := resumeHint.FindStringSubmatch(text); m != nil {
			pairs = append(pairs, "Agent", input("description", "go on", "prompt", "Go on.", "resume", m[1]))
		}
	}
	switch {
	case len(pairs) > 0:
		return calls(pairs...)
	case n >= longMain:
		return says("All done.")
	case n%8 == 1 && n/8 < 8: // eight times three, less one
		return dispatches(min(3, longSubs-n/8*3))
	}
	return calls("Read", input("file_path", fmt.Sprintf("file%d.txt", n%longFiles)))
}

// longAnswer is how long the model takes that many agents wait for.
const longAnswer = 15 * time.Second

// scripts are what the server of another process can play.
var scripts = map[string]func(api.Request) api.Turn{
	"long": longScript,
	"wait": func(api.Request) api.Turn {
		turn := says("Done.")
		turn.Delay = longAnswer
		return turn
	},
}

// serveScript serves until standard input ends.
func serveScript(name string) {
	s, err := api.Start(&api.Options{Script: scripts[name], Window: 1_000_000, LogBytes: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// otherProcess starts the server in a process of its own.
func otherProcess(b testing.TB, script string) (url string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+script)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// meter notes what each thread's requests had, in order.
type meter struct {
	model.Model
	mu      sync.Mutex
	threads map[string][]model.Usage
}

func (m *meter) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	s, err := m.Model.Stream(ctx, r)
	return &metered{Stream: s, meter: m, agent: r.Meta.Agent}, err
}

type metered struct {
	model.Stream
	meter *meter
	agent string
}

func (s *metered) Recv() (model.Delta, error) {
	d, err := s.Stream.Recv()
	if errors.Is(err, io.EOF) {
		s.meter.mu.Lock()
		defer s.meter.mu.Unlock()
		s.meter.threads[s.agent] = append(s.meter.threads[s.agent], s.Reply().Usage)
	}
	return d, err
}

// shares are the part of all input that was read from the cache, and the part
// that could have been: all that the same thread had sent before, and for its
// first request what others of its role share.
func (m *meter) shares() (read, reachable float64) {
	var all, reads, could int64
	for _, list := range m.threads {
		before := list[0].CacheRead
		for _, u := range list {
			all += u.Context()
			reads += u.CacheRead
			could += before
			before = u.Context()
		}
	}
	return float64(reads) / float64(all), float64(could) / float64(all)
}

// breaking is a store that refuses writes from some point on.
type breaking struct {
	transcript.Store
	left atomic.Int64
}

func (s *breaking) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	if s.left.Add(-1) < 0 {
		return 0, errors.New("the process was killed")
	}
	return s.Store.Append(ctx, key, expect, es)
}

// BenchmarkLong makes the long run, with a crash in its middle, against a server
// in another process.
func BenchmarkLong(b *testing.B) {
	url := otherProcess(b, "long")
	for b.Loop() {
		dir := b.TempDir()
		for i := range longFiles {
			content := strings.Repeat(fmt.Sprintf("line of file %d, which says something\n", i), 23)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.txt", i)), []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		m := &meter{Model: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: url}), threads: map[string][]model.Usage{}}
		turn := harness.Turn{
			Agent: harness.Agent{Name: "lead", Workspace: dir, AllowedTools: []string{"Agent", "Read"}, Workers: map[string]harness.Worker{
				"coder": {Description: "Works.", Prompt: "Report briefly.", Tools: []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep"}}}},
			Prompt: "Do it all.", Project: project,
		}
		cpu, begin := cpuTime(), time.Now()
		outs, chars := longRun(b, m, turn)
		report(b, m, outs, chars, cpuTime()-cpu, time.Since(begin))
	}
}

// characters are those of what was said in the transcripts of a project.
type characters struct{ main, sub int }

func countCharacters(b *testing.B, s transcript.Store) (n characters) {
	b.Helper()
	for info, err := range s.List(b.Context(), transcript.Key{Project: project}) {
		if err != nil {
			b.Fatal(err)
		}
		for e, err := range s.Load(b.Context(), info.Key, 0) {
			if err != nil {
				b.Fatal(err)
			}
			var line struct {
				Message struct {
					Content json.RawMessage `json:"content"`
				} `json:"message"`
			}
			if err := json.Unmarshal(e.Raw, &line); err != nil {
				b.Fatal(err)
			}
			if info.Key.Sub == "" {
				n.main += utf8.RuneCount(line.Message.Content)
			} else {
				n.sub += utf8.RuneCount(line.Message.Content)
			}
		}
	}
	return n
}

// longRun makes the run in two parts, the first of which breaks off.
func longRun(b *testing.B, m model.Model, turn harness.Turn) (outs []harness.Outcome, chars characters) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sessions")
	for _, left := range []int64{longCutOff, 1 << 40} {
		db, err := store.Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		s := &breaking{Store: db}
		s.left.Store(left)
		turn.Store = s
		out, err := native.New(native.Config{Model: m}).Run(b.Context(), turn)
		if crashed := left == longCutOff; crashed != (err != nil) {
			b.Fatalf("%+v, %v", out, err)
		}
		if len(outs) == 1 {
			b.StopTimer()
			chars = countCharacters(b, db)
			b.StartTimer()
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		outs = append(outs, out)
		turn.Session.Resume, turn.Prompt = out.SessionID, "Go on."
	}
	return outs, chars
}

// arrivals counts the requests on their way.
type arrivals struct {
	model.Model
	count atomic.Int64
}

func (a *arrivals) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	a.count.Add(1)
	return a.Model.Stream(ctx, r)
}

// BenchmarkAgents is what a thousand agents in one process take while all of them
// wait for their model, over real HTTP.
func BenchmarkAgents(b *testing.B) {
	url := otherProcess(b, "wait")
	m := &arrivals{Model: anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: url})}
	h := native.New(native.Config{Model: m})
	dir := b.TempDir()
	memoryNow := func() float64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return float64(s.HeapInuse + s.StackInuse)
	}
	for b.Loop() {
		const n = 1000
		db, err := store.Open(filepath.Join(b.TempDir(), "sessions"), nil)
		if err != nil {
			b.Fatal(err)
		}
		m.count.Store(0)
		before, begin := memoryNow(), time.Now()
		var wait sync.WaitGroup
		var failed atomic.Int64
		for range n {
			wait.Go(func() {
				_, err := h.Run(b.Context(), harness.Turn{
					Agent:  harness.Agent{Name: "one", Workspace: dir, AllowedTools: []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep"}},
					Prompt: "Do it.", Project: project, Store: db,
				})
				if err != nil {
					failed.Add(1)
				}
			})
		}
		for m.count.Load() < n && time.Since(begin) < longAnswer {
			time.Sleep(10 * time.Millisecond)
		}
		asked := time.Since(begin)
		time.Sleep(200 * time.Millisecond)
		each := (memoryNow() - before) / n / (1 << 10)
		goroutines := runtime.NumGoroutine()
		wait.Wait()
		whole := time.Since(begin)
		fmt.Printf("\nagents at a time             %d\nuntil all had asked          %.2f s\nthe model's answer takes     %.0f s\nuntil all were done          %.2f s\nmemory of one, waiting       %.0f KiB\ngoroutines while they wait   %d\nfailed                       %d\n",
			n, asked.Seconds(), longAnswer.Seconds(), whole.Seconds(), each, goroutines, failed.Load())
		b.ReportMetric(each, "KiB/agent")
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// report prints the long run beside the one that it is shaped like.
func report(b *testing.B, m *meter, outs []harness.Outcome, chars characters, cpu, wall time.Duration) {
	var u harness.Usage
	for _, o := range outs {
		u = u.Add(o.Usage)
	}
	read, reachable := m.shares()
	all := u.Main.Turns + u.Sub.Turns
	var t strings.Builder
	w := tabwriter.NewWriter(&t, 0, 0, 2, ' ', 0)
	row := func(what, anchor, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", what, anchor, fmt.Sprintf(format, args...))
	}
	row("", "the run that was made", "here")
	row("turns of the main thread", "70", "%d", u.Main.Turns)
	row("subagents", "23", "%d", len(m.threads)-1)
	row("turns of subagents", "3000", "%d", u.Sub.Turns)
	row("tool calls", "1893", "%d", u.Main.ToolCalls+u.Sub.ToolCalls)
	row("characters of all transcripts", "3.8 M", "%.1f M", float64(chars.main+chars.sub)/1e6)
	row("crashes in the middle", "", "%d", len(outs)-1)
	row("turns outside the main thread", "", "%.1f %%", 100*float64(u.Sub.Turns)/float64(all))
	row("characters outside the main thread", "", "%.1f %%", 100*float64(chars.sub)/float64(chars.main+chars.sub))
	row("input read from the cache", "", "%.2f %%", 100*read)
	row("the most that can be", "", "%.2f %%", 100*reachable)
	row("context of the main thread, at its tenths", "", "%s", curve(m.threads[""]))
	row("context of a subagent, at its tenths", "", "%s", curve(m.longest()))
	row("CPU of the engine", "", "%.1f s", cpu.Seconds())
	row("time", "", "%.1f s", wall.Seconds())
	row("peak memory", "", "%d MB", peakMemory()>>20)
	_ = w.Flush()                // into memory
	fmt.Print("\n" + t.String()) // b.Log cuts after a few lines
	b.ReportMetric(cpu.Seconds(), "cpu-s")
	b.ReportMetric(100*read, "%cache-read")
}

// longest are the requests of the subagent that made most.
func (m *meter) longest() (list []model.Usage) {
	for agent, l := range m.threads {
		if agent != "" && len(l) > len(list) {
			list = l
		}
	}
	return list
}

// curve is the context of a thread's requests, in thousands of tokens, at every
// tenth of its way.
func curve(list []model.Usage) string {
	var points []string
	for i := 0; i <= 10 && len(list) > 0; i++ {
		points = append(points, fmt.Sprintf("%.1f", float64(list[i*(len(list)-1)/10].Context())/1000))
	}
	return strings.Join(points, " ") + " k"
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most memory the process has had, in bytes.
func peakMemory() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss << 10
}
