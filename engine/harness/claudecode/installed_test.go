package claudecode_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness/claudecode"
)

func TestInstalled_tells_path_version_and_what_is_off(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got := claudecode.Installed(t.Context()); got.Path != "" || !errors.Is(got.Err, claudecode.ErrNoProgram) {
		t.Errorf("nothing is there: %+v", got)
	}
	path := filepath.Join(dir, "claude")
	for _, c := range []struct{ says, version, note string }{
		{"echo '" + claudecode.Tried + " (Claude Code)'", claudecode.Tried, ""},
		{"echo '1.0.3 (Claude Code)'", "1.0.3", "has not been tried"},
		{"exit 3", "", ""},
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got := claudecode.Installed(t.Context())
		if got.Path != path || got.Version != c.version || !strings.Contains(got.Note, c.note) || (got.Note == "") != (c.note == "") || (got.Err != nil) != (c.version == "") {
			t.Errorf("%s: %+v", c.says, got)
		}
	}
}
