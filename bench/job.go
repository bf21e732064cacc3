package main

// What is measured of memory, or must not disturb its neighbour, runs in a process of
// its own: this program again, with a job in its environment.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// jobVariable holds a job as JSON.
const jobVariable = "FLOWER_BENCH_JOB"

// job is an order to another process.
type job struct {
	Kind string // a key of kinds
	Dir  string

	URL    string // agents: of the double
	Agents int

	Engine  string        // write, load: flower or sqlite
	Entries int           // write: at most this many
	For     time.Duration // write: no longer than this; 0 is no limit
	Batch   int           // write: entries in one append; 0 is 1
	Writers int           // write: side by side, each in a session of its own; 0 is 1
	Sync    syncing
	Repeat  int // load: how often

	Profile string // file for a processor profile; empty: none
}

// syncing says when what is written is made safe against a power cut.
type syncing string

const (
	never    syncing = ""
	eachTime syncing = "each time" // at each append
	eachTurn syncing = "each turn" // behind eight entries
)

// answer is what a job has measured.
type answer struct {
	Seconds []float64 // of each piece of the work
	CPU     float64   // seconds of processor time of one piece, of all threads
	Bytes   float64   // load: allocated for one
	Peak    int64     // bytes that the process held at most
}

// String names a job in messages and files.
func (j job) String() string {
	name := j.Kind
	for _, part := range []string{j.Engine, string(j.Sync)} {
		if part != "" {
			name += "-" + strings.ReplaceAll(part, " ", "-")
		}
	}
	if n := j.Entries + j.Agents; n > 0 {
		name += fmt.Sprint("-", n)
	}
	if j.Writers > 1 {
		name += fmt.Sprintf("-by-%d", j.Writers)
	}
	return name
}

var kinds = map[string]func(context.Context, job) (answer, error){
	"agents": runAgents,
	"write":  runWrite,
	"fill":   runFill,
	"load":   runLoad,
}

// serveJob does the job this process was started for, if it was started for one.
func serveJob() (served bool, err error) {
	order, ok := os.LookupEnv(jobVariable)
	if !ok {
		return false, nil
	}
	var j job
	if err := json.Unmarshal([]byte(order), &j); err != nil {
		return true, fmt.Errorf("%s: %w", jobVariable, err)
	}
	run, ok := kinds[j.Kind]
	if !ok {
		return true, fmt.Errorf("%s: there is no kind of job %q", jobVariable, j.Kind)
	}
	stop, err := startProfile(j.Profile)
	if err != nil {
		return true, err
	}
	a, err := run(context.Background(), j)
	if err = errors.Join(err, stop()); err != nil {
		return true, err
	}
	a.Peak = ownPeak()
	return true, json.NewEncoder(os.Stdout).Encode(a)
}

// startProfile writes a processor profile until stop, where a file is given for it.
func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// do has another process do a job.
func (e *env) do(j job) (answer, error) {
	if e.profiles != "" {
		e.jobs++
		j.Profile = filepath.Join(e.profiles, fmt.Sprintf("%03d-%s.pprof", e.jobs, j))
	}
	order, err := json.Marshal(j)
	if err != nil {
		return answer{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return answer{}, err
	}
	cmd := exec.CommandContext(e.ctx, self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(order))
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return answer{}, fmt.Errorf("%s: %w\n%s", j, err, strings.TrimSpace(errOut.String()))
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return answer{}, fmt.Errorf("%s: the answer cannot be read: %w", j, err)
	}
	return a, nil
}
