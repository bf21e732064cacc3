package claudecode

import (
	"context"
	"os/exec"
)

// Installation is what is there of the program.
type Installation struct {
	Path    string // empty: it was not found
	Version string // empty: it did not tell, see Err
	Err     error
	// Note says that this package was not tried on the version; empty: it was.
	Note string
}

// Installed looks for the program and asks it for its version, which takes it a
// moment. It starts no session.
func Installed(ctx context.Context) Installation {
	path, err := exec.LookPath("claude")
	if err != nil {
		return Installation{Err: ErrNoProgram}
	}
	found, err := version(ctx, path, New(Config{}).environ(nil))
	return Installation{Path: path, Version: found, Err: err, Note: untried(found)}
}
