package harnesstest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/harnesstest"
	"github.com/flowerlua/flower/engine/model"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// BenchmarkStart measures a short turn from Run to the arrival of its first
// request, and the memory of all processes then, for one agent and for ten at a
// time.
func BenchmarkStart(b *testing.B) {
	for name, make := range map[string]func(testing.TB, harnesstest.Provider) harness.Harness{"native": newNative, "claude": newClaude} {
		for _, agents := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s/%d", name, agents), func(b *testing.B) { benchmarkStart(b, make, agents) })
		}
	}
}

func benchmarkStart(b *testing.B, make func(testing.TB, harnesstest.Provider) harness.Harness, agents int) {
	arrived := newArrivals(agents)
	server, err := api.Start(&api.Options{Script: func(api.Request) api.Turn {
		arrived.wait()
		return api.Turn{Blocks: []api.Block{api.Text("Done.")}}
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	h := make(b, harnesstest.Provider{URL: server.URL(), Key: "test-key", Model: "claude-sonnet-4-5", Now: time.Now,
		Info: func(_ context.Context, name string) (model.Info, error) { return model.Info{Name: name}, nil }})
	db, dir := openStore(b), b.TempDir()
	var toFirst time.Duration
	var most int64
	for b.Loop() {
		arrived.begin()
		var wait sync.WaitGroup
		for range agents {
			wait.Go(func() {
				_, err := h.Run(b.Context(), harness.Turn{Store: db, Project: "bench", Prompt: "Do it.",
					Agent: harness.Agent{Name: "bench", Workspace: dir, AllowedTools: []string{"Read", "Bash"}}})
				if err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
		toFirst += arrived.took
		most = max(most, arrived.memory)
	}
	b.ReportMetric(toFirst.Seconds()*1000/float64(b.N), "ms/request")
	b.ReportMetric(float64(most)/(1<<20), "MiB")
}

// arrivals holds the answers back until every agent has asked, and looks at the
// clock and the memory then.
type arrivals struct {
	agents int
	mu     sync.Mutex
	began  time.Time
	count  int
	all    chan struct{}
	took   time.Duration
	memory int64
}

func newArrivals(agents int) *arrivals { return &arrivals{agents: agents} }

func (a *arrivals) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began, a.count, a.all = time.Now(), 0, make(chan struct{})
}

func (a *arrivals) wait() {
	a.mu.Lock()
	a.count++
	all := a.all
	if a.count == 1 {
		a.took = time.Since(a.began)
	}
	if a.count == a.agents {
		a.memory = memory()
		close(all)
	}
	a.mu.Unlock()
	<-all
}

// memory is what this process and those it has started hold, shared pages counted
// by their share; 0 where the system does not say.
func memory() int64 {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	var sum int64
	for pid := range parents {
		for at := pid; at > 1; at = parents[at] {
			if at == os.Getpid() {
				sum += share(pid)
				break
			}
		}
	}
	return sum
}

// share is a process's proportional share of memory in bytes.
func share(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
