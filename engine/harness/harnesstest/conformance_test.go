package harnesstest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/harness/harnesstest"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// TestMain fails the run when a program that a test started outlives it.
func TestMain(m *testing.M) {
	code := m.Run()
	mark := []byte(fmt.Sprintf("FLOWER_JOB=cc%d-", os.Getpid()))
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, mark) {
			fmt.Fprintf(os.Stderr, "left behind by the tests: %s\n", file)
			code = 1
		}
	}
	os.Exit(code)
}

func openStore(t testing.TB) transcript.Store {
	db, err := store.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// priced is a model whose prices are the suite's.
type priced struct {
	model.Model
	harnesstest.Provider
}

func (p priced) Info(ctx context.Context, name string) (model.Info, error) {
	return p.Provider.Info(ctx, name)
}

func newNative(t testing.TB, p harnesstest.Provider) harness.Harness {
	client := anthropic.New(&anthropic.Options{Key: p.Key, BaseURL: p.URL, Idle: 5 * time.Second})
	return native.New(native.Config{Model: priced{client, p}, DefaultModel: p.Model, Retries: p.Retries, RetryDelay: time.Millisecond,
		OutputDir: t.TempDir(), Now: p.Now})
}

func newClaude(t testing.TB, p harnesstest.Provider) harness.Harness {
	program, err := findProgram()
	if err != nil {
		t.Skip("the Claude Code CLI is not installed: run npm ci in engine/harness/claudecode/testdata/cli")
	}
	return claudecode.New(claudecode.Config{Command: program, BaseURL: p.URL, Key: p.Key, DefaultModel: p.Model, Retries: p.Retries,
		Info: p.Info, TempDir: t.TempDir(), Now: p.Now})
}

func TestNative(t *testing.T) {
	harnesstest.Run(t, harnesstest.Suite{Store: openStore, New: newNative})
}

func TestClaudeCode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the Claude Code CLI")
	}
	if _, err := findProgram(); err != nil {
		t.Skip("the Claude Code CLI is not installed: run npm ci in engine/harness/claudecode/testdata/cli")
	}
	harnesstest.Run(t, harnesstest.Suite{Store: openStore, New: newClaude, Other: newNative})
}

// findProgram looks where npm puts the program of this machine.
func findProgram() (string, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path, err := filepath.Abs(filepath.Join("..", "claudecode", "testdata", "cli", "node_modules", "@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude"))
	if err != nil {
		return "", err
	}
	return exec.LookPath(path)
}
