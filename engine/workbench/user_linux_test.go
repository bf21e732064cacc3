package workbench_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asOrdinaryUser runs do with the file permissions of a user who is not root,
// to whom dir is given. Only this thread changes its identity, and only
// towards the file system.
func asOrdinaryUser(t *testing.T, dir string, do func()) {
	if os.Getuid() != 0 {
		do()
		return
	}
	const nobody = 65534
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = syscall.Setfsuid(0) }()
	_ = syscall.Setfsuid(nobody)
	do()
}
