package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/store"
)

// gather starts a double whose agents call a tool and then wait until n of them have
// come so far, so that all of them are at work at one moment.
func gather(ctx context.Context, n int) (*messagesapi.Server, error) {
	met := make(chan struct{})
	var came atomic.Int64
	return messagesapi.Start(&messagesapi.Options{LogEntries: 1, Script: func(r messagesapi.Request) messagesapi.Turn {
		if r.Turn() == 1 {
			return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.ToolUse("", "Glob", `{"pattern":"*.md"}`)}}
		}
		if came.Add(1) == int64(n) {
			close(met)
		}
		select {
		case <-met:
		case <-ctx.Done():
		}
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("There is nothing.")}}
	}})
}

// runAgents is the job: as many agents at work at a time in one process.
func runAgents(ctx context.Context, j job) (answer, error) {
	db, err := store.Open(filepath.Join(j.Dir, "runs", "sessions"), nil)
	if err != nil {
		return answer{}, err
	}
	defer db.Close()
	client := anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: j.URL})
	rt, err := engine.New(engine.Config{Workspace: j.Dir, Store: db, Harness: native.New(native.Config{Model: client}), NoRetry: true})
	if err != nil {
		return answer{}, err
	}
	defer rt.Close()

	// One that fails ends all: the others would wait for it for ever.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.Now()
	var work sync.WaitGroup
	for i := range j.Agents {
		work.Go(func() {
			spec := engine.Spec{Name: "looker", Instructions: "Be brief."}
			result, err := rt.Run(ctx, spec, fmt.Sprintf("Is there a description in folder %d?", i), engine.RunOptions{})
			if err == nil && !result.OK {
				err = fmt.Errorf("agent %d: %s", i, result.Error)
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	work.Wait()
	took := time.Since(begin)
	return answer{Seconds: []float64{took.Seconds()}}, context.Cause(ctx)
}

// gathered runs n agents in a process of its own.
func (e *env) gathered(n int) (answer, error) {
	dir, err := e.folder("agents")
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	api, err := gather(ctx, n)
	if err != nil {
		return answer{}, err
	}
	defer func() {
		cancel() // first: an answer that still waits for others would hold up Close
		api.Close()
	}()
	return e.do(job{Kind: "agents", Dir: dir, URL: api.URL(), Agents: n})
}

// agents is the memory of agents in one process, all at work at one moment.
func agents(e *env) ([]table, error) {
	t := table{title: "Agents in one process, each with a session, a tool call and a request under way",
		notes: []string{"the anchors are whole processes: that is what one more agent is there"}}
	few, many := e.size(200), e.size(1000)

	one := row{what: fmt.Sprintf("memory of one more agent, of %d at work", few), reach: goal{atMost: memory(0.3e6)}}
	if values, err := e.oneMore(few, e.rounds(5)); err != nil {
		one.problem = err.Error()
	} else {
		one.got = summarize(values, byteUnit)
		one.anchors = publishedAll(one.got, publishedMemory)
	}

	peak, whole := row{what: fmt.Sprintf("peak memory of %d agents", many)}, row{what: fmt.Sprintf("%d agents, from the first's start to the last's end", many)}
	if peaks, times, err := e.crowd(many, e.rounds(3)); err != nil {
		peak.problem, whole.problem = err.Error(), "see the peak memory"
	} else {
		peak.got, whole.got = summarize(peaks, byteUnit), summarize(times, second)
	}
	t.rows = []row{one, peak, whole}
	return []table{t}, nil
}

// oneMore is what a process with n agents holds above one with one agent, for each
// agent.
func (e *env) oneMore(n, rounds int) (values []float64, err error) {
	for range rounds {
		alone, err := e.gathered(1)
		if err != nil {
			return nil, err
		}
		all, err := e.gathered(n)
		if err != nil {
			return nil, err
		}
		values = append(values, float64(all.Peak-alone.Peak)/float64(n-1))
	}
	return values, nil
}

// crowd is what n agents take.
func (e *env) crowd(n, rounds int) (peaks, times []float64, err error) {
	for range rounds {
		a, err := e.gathered(n)
		if err != nil {
			return nil, nil, err
		}
		peaks, times = append(peaks, float64(a.Peak)), append(times, a.Seconds...)
	}
	return peaks, times, nil
}
