package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/tool"
)

// TestMain fails the run when a process that a test started outlives it.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftOver(2 * time.Second); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes left behind by the tests: %v\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftOver waits for every process with a mark of this one to be gone and
// returns those that are not.
func leftOver(wait time.Duration) []string {
	mark := []byte("FLOWER_JOB=" + strconv.Itoa(os.Getpid()) + "-")
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, mark) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				left = append(left, filepath.Base(filepath.Dir(file))+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

type in map[string]any

// newSet makes a Set in a new workspace, unless o names one, and closes it.
func newSet(t testing.TB, o tool.Options) *tool.Set {
	t.Helper()
	if o.Workspace == "" {
		o.Workspace = tempDir(t)
	}
	if o.OutputDir == "" {
		o.OutputDir = filepath.Join(tempDir(t), "output")
	}
	s := tool.NewSet(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if live := s.Live(); len(live) > 0 {
			t.Errorf("live after Close: %v", live)
		}
	})
	return s
}

// tempDir is a folder of the test's own, with links resolved.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func find(t testing.TB, s *tool.Set, name string) tool.Tool {
	t.Helper()
	for _, x := range s.Tools() {
		if x.Definition().Name == name {
			return x
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func run(t testing.TB, s *tool.Set, name string, input in) tool.Result {
	t.Helper()
	return runCtx(t, t.Context(), s, name, input)
}

func runCtx(t testing.TB, ctx context.Context, s *tool.Set, name string, input in) tool.Result {
	t.Helper()
	b, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return find(t, s, name).Run(ctx, tool.Call{ID: "toolu_1", Input: b})
}

// good runs a call that must succeed, bad one that must not; both give the text.
func good(t testing.TB, s *tool.Set, name string, input in) string {
	t.Helper()
	r := run(t, s, name, input)
	if r.IsError {
		t.Fatalf("%s %v: unexpected error: %s", name, input, r.Text())
	}
	return r.Text()
}

func bad(t testing.TB, s *tool.Set, name string, input in) string {
	t.Helper()
	r := run(t, s, name, input)
	if !r.IsError {
		t.Fatalf("%s %v: no error but: %s", name, input, r.Text())
	}
	return r.Text()
}

func wants(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in:\n%s", p, short(text))
		}
	}
}

func lacks(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("unexpected %q in:\n%s", p, short(text))
		}
	}
}

func short(s string) string {
	if len(s) > 800 {
		return s[:400] + "\n……\n" + s[len(s)-400:]
	}
	return s
}

// put writes a file below a folder and returns its path.
func put(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// structured decodes a result's structured part.
func structured(t testing.TB, r tool.Result) map[string]any {
	t.Helper()
	out := map[string]any{}
	if len(r.Structured) == 0 {
		return out
	}
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
