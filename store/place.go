package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/flowerlua/flower/engine/transcript"
)

// A folder that is removed while it is open goes on taking writes, into files without
// a name, and they are lost with the process. So it is looked whether the files are
// still where they were: now and then before a write (see writable), after every sync,
// and when something has failed.

// place is the database's folder as it was opened.
type place struct {
	path string
	info os.FileInfo // nil: not known
}

func newPlace(path string) place {
	info, _ := os.Stat(path) // if it cannot be asked, nothing is missed
	return place{path, info}
}

// isAt reports whether the file is still at path. What cannot be asked counts as there.
func isAt(info os.FileInfo, path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return info == nil || os.SameFile(info, now)
}

// present is nil as long as the folder is where it was opened. Afterwards no write
// succeeds any more, whatever happens to the folder.
func (e *engine) present() error {
	if isAt(e.place.info, e.place.path) && !e.journal.gone() {
		return nil
	}
	var err error = &removedError{e.dir}
	e.broken.CompareAndSwap(nil, &err)
	return err
}

// removedError: the folder went away. To whoever used the store it is closed.
type removedError struct{ dir string }

func (e *removedError) Error() string {
	return fmt.Sprintf("store %s: its folder, or a part of it, was removed or moved away while it was open: nothing more can be kept, and what was there is gone from this place; start the run again", e.dir)
}

func (*removedError) Unwrap() error { return transcript.ErrClosed }

func isRemoved(err error) bool {
	var gone *removedError
	return errors.As(err, &gone)
}

// explain gives the reason of an error that comes from the folder being gone.
func (e *engine) explain(err error) error {
	if !errors.Is(err, transcript.ErrUnavailable) || errors.Is(err, transcript.ErrClosed) {
		return err
	}
	if gone := e.present(); gone != nil {
		return gone
	}
	return err
}
