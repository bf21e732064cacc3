package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepair_lets_the_run_go_on: with nothing left of its sessions the run names the
// command that helps, and after it goes on.
func TestRepair_lets_the_run_go_on(t *testing.T) {
	t.Parallel()
	b := &crashBed{t: t, dir: t.TempDir(), bin: flowerCommand(t)}
	b.write("flow.lua", crashFlow)
	b.write("model.lua", `return function() return "finished" end`)
	if out, err := b.command().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	db := filepath.Join(b.dir, "runs", "sessions", "db")
	tables, err := filepath.Glob(filepath.Join(db, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	for _, path := range append(tables, filepath.Join(db, "MANIFEST")) {
		ruin(t, path)
	}
	out, err := b.command().CombinedOutput()
	if err == nil || !strings.Contains(words(out), "flower sessions repair") {
		t.Fatalf("before the repair: %v\n%s", err, out)
	}
	repair := exec.Command(b.bin, "sessions", "repair")
	repair.Dir = b.dir
	if out, err = repair.CombinedOutput(); err != nil || !strings.Contains(words(out), "it was dropped") {
		t.Errorf("repair: %v\n%s", err, out)
	}
	out, err = b.command().CombinedOutput()
	if err != nil || strings.Count(words(out), "begin anew") != 1 {
		t.Errorf("after the repair: %v\n%s", err, out)
	}
}

// words is a text without its line breaks.
func words(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

// ruin makes a file unreadable from its twentieth byte on.
func ruin(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 20; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRemoved_run_directory_ends_the_run_at_once, and says what happened.
func TestRemoved_run_directory_ends_the_run_at_once(t *testing.T) {
	t.Parallel()
	b := &crashBed{t: t, dir: t.TempDir(), bin: flowerCommand(t)}
	b.write("flow.lua", crashFlow)
	b.write("model.lua", `return function() return { tool = "Bash", input = { command = "rm -rf runs" } } end`)
	out, err := b.command().CombinedOutput()
	if err == nil || strings.Contains(words(out), "paused") || !strings.Contains(words(out), "moved away") {
		t.Errorf("%v\n%s", err, out)
	}
}
