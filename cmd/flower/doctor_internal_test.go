package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/store"
)

func TestDoctor_space_below_the_store_s_line_stops_a_run(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		state string
	}{{store.DefaultMinFree - 1, problemState}, {store.DefaultMinFree, warningState}, {4 * store.DefaultMinFree, wellState}} {
		d := &diagnosis{}
		d.free(c.bytes)
		if got := d.Exams[0]; got.State != c.state || (got.Fix == "") != (c.state == wellState) {
			t.Errorf("%d bytes: %+v, want %s", c.bytes, got, c.state)
		}
	}
}

func TestDoctor_a_folder_that_cannot_be_written_stops_a_run(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	d := &diagnosis{}
	d.folder("workspace", filepath.Join(dir, "new"))
	if got := d.Exams[0]; got.State != problemState || !strings.Contains(got.Text, "cannot be written") {
		t.Errorf("%+v", got)
	}
}

func TestDoctor_says_when_the_claude_program_wants_a_node_that_is_not_there(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env node\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path))
	if got := nodeAdvice(path, "install"); !strings.Contains(got, "a script for node") {
		t.Errorf("advice %q", got)
	}
	if got := nodeAdvice(filepath.Join(path, "none"), "install"); got != "install" {
		t.Errorf("advice %q", got)
	}
}
