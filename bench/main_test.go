package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain lets the tests' program do the jobs that it starts itself for.
func TestMain(m *testing.M) {
	if served, err := serveJob(); served {
		exit(err)
	}
	os.Exit(m.Run())
}

func newEnv(t *testing.T) *env {
	t.Helper()
	root, err := moduleDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &env{ctx: t.Context(), root: root, dir: t.TempDir(), quick: true}
}

func TestSections_measure_every_row(t *testing.T) {
	if testing.Short() {
		t.Skip("builds flower and starts many processes")
	}
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			tables, err := s.run(newEnv(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(tables) == 0 {
				t.Fatal("no table")
			}
			for _, table := range tables {
				checkTable(t, table)
			}
		})
	}
}

// checkTable looks at what holds of every table, however fast the machine is.
func checkTable(t *testing.T, table table) {
	t.Helper()
	if len(table.rows) == 0 {
		t.Errorf("%s: no rows", table.title)
	}
	for _, r := range table.rows {
		switch {
		case r.problem != "":
			t.Errorf("%s: %s", r.what, r.problem)
		case !(r.got.median.value > 0) || r.got.median.unit == none:
			t.Errorf("%s: measured %+v", r.what, r.got.median)
		}
		for _, a := range r.anchors {
			if a.name == "" || !(a.value.value > 0) || a.ratio < 0 {
				t.Errorf("%s: anchor %+v", r.what, a)
			}
		}
	}
}

func TestBench_runs_the_sections_asked_for_and_cleans_up(t *testing.T) {
	kept := sections
	t.Cleanup(func() { sections = kept })
	ran := ""
	of := func(name string) section {
		return section{name, func(e *env) ([]table, error) {
			ran += name
			_, err := e.folder(name)
			return []table{{title: "table of " + name}}, err
		}}
	}
	sections = []section{of("one"), of("two"), of("three")}
	dir := t.TempDir()
	var out strings.Builder
	if err := bench(t.Context(), []string{"-run", "^t", "-quick", "-dir", dir}, &out); err != nil {
		t.Fatal(err)
	}
	if ran != "twothree" || !strings.Contains(out.String(), "table of two") || !strings.Contains(out.String(), "a quick run") {
		t.Errorf("ran %q, printed:\n%s", ran, out.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBench_goes_on_behind_what_cannot_be_measured_and_tells_it(t *testing.T) {
	kept := sections
	t.Cleanup(func() { sections = kept })
	broken := errors.New("no disk")
	sections = []section{
		{"one", func(*env) ([]table, error) { return nil, broken }},
		{"two", func(*env) ([]table, error) {
			return []table{{title: "two", rows: []row{{what: "gate", problem: "does not build"}}}}, nil
		}},
		{"three", func(*env) ([]table, error) { return []table{{title: "third table"}}, nil }},
	}
	var out strings.Builder
	err := bench(t.Context(), []string{"-dir", t.TempDir()}, &out)
	if !errors.Is(err, broken) || !strings.Contains(fmt.Sprint(err), "gate: not measured") {
		t.Errorf("error = %v", err)
	}
	if !strings.Contains(out.String(), "third table") {
		t.Errorf("the last section is not there:\n%s", out.String())
	}
}

func TestBench_stops_when_it_is_interrupted(t *testing.T) {
	kept := sections
	t.Cleanup(func() { sections = kept })
	ctx, cancel := context.WithCancel(t.Context())
	sections = []section{
		{"one", func(*env) ([]table, error) { cancel(); return nil, nil }},
		{"two", func(*env) ([]table, error) { t.Error("went on"); return nil, nil }},
	}
	if err := bench(ctx, []string{"-dir", t.TempDir()}, &strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestDo_tells_why_a_job_failed(t *testing.T) {
	e := newEnv(t)
	if _, err := e.do(job{Kind: "dance"}); err == nil || !strings.Contains(err.Error(), `no kind of job "dance"`) {
		t.Errorf("error = %v", err)
	}
	if _, err := e.do(job{Kind: "load", Engine: "flower", Dir: e.dir, Entries: 1, Repeat: 1}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a load of nothing: %v", err)
	}
}
