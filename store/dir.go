package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/flowerlua/flower/engine/transcript"
)

// What lies in the folder of a store.
const (
	fileMarker  = "flower-store" // says that this is a store, and of which form
	fileLock    = "lock"         // held by the owner while it lives
	fileOwner   = "owner"        // where the owner listens
	fileWitness = "witness"
	dirDB       = "db"
	dirBlobs    = "blobs"
	dirDamaged  = "damaged" // what could not be read, kept for a person to look at
	suffixNew   = ".new"    // of a file that is to replace another
)

// format is the form of the whole folder. A store with a higher one was made by a newer
// program, one with a lower one before there was a journal.
const format = 2

// marker is the content of the marker file. It lies outside the database, so that
// an empty database in its place is noticed.
type marker struct {
	Store  string `json:"store"` // always "flower"
	Format int    `json:"format"`
	ID     string `json:"id"` // also in the database
	// Ready is false from the first moment of a store until its database holds
	// the id.
	Ready bool   `json:"ready"`
	Check uint32 `json:"check"` // over the rest
}

func (m marker) check() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%s %d %s %v", m.Store, m.Format, m.ID, m.Ready), crcTable)
}

var errForeign = errors.New("not a flower store")

// prepareDir makes dir if need be and refuses a folder that is something else.
func prepareDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return unavailable("store %s cannot be made (%v): choose another folder", dir, err)
		}
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return unavailable("store %s is a file: choose a folder", dir)
	case err != nil:
		return unavailable("store %s cannot be read (%v)", dir, err)
	}
	ours := []string{fileMarker, fileLock, fileOwner, fileWitness, dirDB, dirBlobs, dirDamaged}
	isOurs := func(name string) bool { return slices.Contains(ours, name) || strings.HasPrefix(name, journalPrefix) }
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == fileMarker }) {
		return nil
	}
	for _, e := range entries {
		if !isOurs(strings.TrimSuffix(e.Name(), suffixNew)) {
			return fmt.Errorf("store %s holds %q and no %s: %w: choose an empty folder: %w",
				dir, e.Name(), fileMarker, errForeign, transcript.ErrUnavailable)
		}
	}
	return nil
}

// readMarker gives the zero marker when there is none, or none that makes sense: the
// database then tells whether it belongs to a store.
func readMarker(dir string) (m marker, err error) {
	path := filepath.Join(dir, fileMarker)
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return marker{}, nil
	case err != nil:
		return marker{}, unavailable("store %s (%v)", dir, err)
	}
	switch err := json.Unmarshal(b, &m); {
	case err != nil, m.Store != "flower", m.Check != m.check():
		return marker{}, nil
	case m.Format > format:
		return marker{}, unavailable("store %s has form %d, this program knows forms up to %d: use a newer version of flower",
			dir, m.Format, format)
	case m.Format < format:
		return marker{}, unavailable("store %s has form %d, this program reads form %d only: export its sessions with the flower that made it, or choose another folder",
			dir, m.Format, format)
	}
	return m, nil
}

// writeMarker replaces the marker. It is not synced: a power cut may leave the old
// one or none that makes sense, and either is put right.
func writeMarker(dir string, m marker) error {
	m.Check = m.check()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, fileMarker), append(b, '\n'))
}

// replaceFile gives a file another content, at once. The lock is held, so nobody else
// uses the name of the new file.
func replaceFile(path string, data []byte) error {
	next := path + suffixNew
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

func newMarker() marker {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return marker{Store: "flower", Format: format, ID: hex.EncodeToString(id[:])}
}

// errBusy: another process, or another Store of this one, holds the lock.
var errBusy = errors.New("the store is owned by another process")

// takeLock takes the owner's lock, which ends with the file or with the process.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, fileLock)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return nil, unavailable("store %s cannot be written (%v): change its permissions or choose another folder", dir, err)
	case err != nil:
		return nil, unavailable("store %s (%v)", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errBusy
	}
	return nil, unavailable("store %s cannot be locked (%v): choose a folder on a local disk", dir, err)
}

// checkUnused makes sure that nobody has the database open. Its own lock is one on
// its folder; it is free when ours is, unless somebody has removed our file.
func checkUnused(db string) error {
	f, err := os.Open(db)
	if err != nil {
		return unavailable("store (%v)", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return unavailable("database %s is open in another process, though the store is not locked (%v): end that process", db, err)
	}
	return nil
}

// freeSpace is what this user may still write below dir, in bytes.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(min(st.Bavail, 1<<50/uint64(st.Bsize))) * int64(st.Bsize), nil
}
