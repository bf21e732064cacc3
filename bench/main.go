// Command bench measures what flower promises to be quick and small at, and prints
// each figure beside its anchor and what it is to reach.
//
//	cd bench && go run . [-quick] [-run REGEXP]
//
// See README.md for what the tables mean. The exit code tells whether everything
// could be measured, never whether it was fast.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// section is one or more tables about one subject.
type section struct {
	name string
	run  func(*env) ([]table, error)
}

// sections stand in the order in which they run: start first, while this process is
// small (see peakOf).
var sections = []section{
	{"start", start},
	{"agents", agents},
	{"calls", calls},
	{"append", appends},
	{"load", loads},
}

// env is what a section works with.
type env struct {
	ctx   context.Context
	root  string // the folder of flower's module
	dir   string // for files; removed at the end
	quick bool

	profiles string // folder for processor profiles of jobs; empty: none
	jobs     int    // so far
}

// rounds is how often something is measured.
func (e *env) rounds(full int) int {
	if e.quick {
		return 2
	}
	return full
}

// size is n, or a tenth of it.
func (e *env) size(n int) int {
	if e.quick {
		return max(1, n/10)
	}
	return n
}

// time is d, or a tenth of it.
func (e *env) time(d time.Duration) time.Duration {
	if e.quick {
		return d / 10
	}
	return d
}

// folder makes a new folder for one measurement.
func (e *env) folder(name string) (string, error) { return os.MkdirTemp(e.dir, name+"-") }

func main() {
	if served, err := serveJob(); served {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, os.Args[1:], os.Stdout)
	stop()
	exit(err)
}

func exit(err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// bench runs the sections that the words ask for.
func bench(ctx context.Context, words []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	pattern := flags.String("run", "", "run only the sections whose name matches this `regexp`: start, agents, calls, append, load")
	quick := flags.Bool("quick", false, "a small run: a tenth of the sizes, figures that say little")
	place := flags.String("dir", "", "`folder` on the disk to measure; empty is the folder for temporary files")
	profiles := flags.String("profile", "", "existing `folder` for a processor profile of each process that works on agents or stores")
	if err := flags.Parse(words); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	e := &env{ctx: ctx, quick: *quick, profiles: *profiles}
	if e.root, err = moduleDir(ctx); err != nil {
		return err
	}
	if e.dir, err = os.MkdirTemp(*place, "flower-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(e.dir)) }()
	if e.dir, err = filepath.Abs(e.dir); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, e.describe()); err != nil {
		return err
	}
	return e.runSections(wanted, out)
}

// runSections goes on behind a section that could not be measured: the others' figures
// are worth having.
func (e *env) runSections(wanted *regexp.Regexp, out io.Writer) error {
	var failed []error
	for _, s := range sections {
		if !wanted.MatchString(s.name) {
			continue
		}
		tables, err := s.run(e)
		if err != nil {
			failed = append(failed, fmt.Errorf("section %s: %w", s.name, err))
		}
		for _, t := range tables {
			if err := t.print(out); err != nil {
				return err
			}
			failed = append(failed, t.problems()...)
		}
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
	}
	return errors.Join(failed...)
}

func (t table) problems() []error {
	var all []error
	for _, r := range t.rows {
		if r.problem != "" {
			all = append(all, fmt.Errorf("%s: not measured", r.what))
		}
	}
	return all
}

// describe tells of the machine, and how busy it is: a figure is worth as much as
// the quiet around it.
func (e *env) describe() string {
	text := fmt.Sprintf("flower, measured on %s/%s with %d cores, %s, files in %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), filepath.Dir(e.dir))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		text += "; load " + strings.Fields(string(load))[0]
	}
	if e.quick {
		text += "; a quick run, its figures say little"
	}
	return text + ".\nFigures are medians of repetitions, each measured in this run; other work on the machine makes them larger.\n" +
		"Ratios say how many times better than the anchor. Anchors from the literature were measured elsewhere."
}

// moduleDir is where flower's source is.
func moduleDir(ctx context.Context) (string, error) {
	const module = "github.com/flowerlua/flower"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", fmt.Errorf("the source of %s is not found (%v): run this in its folder bench", module, err)
	}
	return dir, nil
}

// versionOf is the version of a module that this program was built with.
func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return ""
}
