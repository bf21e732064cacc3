package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// maxInline is the size up to which an entry's bytes are kept in the database. A
// larger one becomes a file named by its hash, shared by all entries that have it.
const maxInline = 1 << 20

// blobs is the folder of those files.
type blobs struct {
	dir string
	// sweep is held shared from before a file is put until an entry refers to it,
	// and alone to remove files to which none does.
	sweep sync.RWMutex

	mu    sync.Mutex
	dirty map[string]bool // folders that are not synced
}

func newBlobs(dir string) *blobs { return &blobs{dir: dir, dirty: map[string]bool{}} }

func (b *blobs) path(hash [32]byte) string {
	name := hex.EncodeToString(hash[:])
	return filepath.Join(b.dir, name[:2], name[2:])
}

// put makes the file for data, if it is not there.
func (b *blobs) put(data []byte) (hash [32]byte, err error) {
	hash = sha256.Sum256(data)
	path := b.path(hash)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(data)) {
		return hash, nil
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return hash, unavailable("store a large entry (%v)", err)
	}
	f, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return hash, unavailable("store a large entry (%v)", err)
	}
	if _, err = f.Write(data); err == nil {
		// Now, since the next owner would not know that it is not synced.
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return hash, unavailable("store a large entry (%v)", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirty[folder], b.dirty[b.dir] = true, true
	return hash, nil
}

// get reads a file and checks it.
func (b *blobs) get(hash [32]byte, size uint64) ([]byte, error) {
	path := b.path(hash)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("file %s is missing", path)
	case err != nil:
		return nil, err
	case uint64(len(data)) != size || sha256.Sum256(data) != hash:
		return nil, fmt.Errorf("file %s is not what was written", path)
	}
	return data, nil
}

func (b *blobs) remove(hash [32]byte) error {
	return ignoreMissing(os.Remove(b.path(hash)))
}

// all lists the hashes of the files, and removes what a process that died has left
// half written.
func (b *blobs) all() (out [][32]byte, err error) {
	err = filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreMissing(err)
		}
		var hash [32]byte
		name, err := hex.DecodeString(filepath.Base(filepath.Dir(path)) + d.Name())
		if err == nil && copy(hash[:], name) == len(hash) {
			out = append(out, hash)
			return nil
		}
		b.sweep.Lock() // so that it is not being written now
		defer b.sweep.Unlock()
		return ignoreMissing(os.Remove(path))
	})
	return out, err
}

// sync makes the files put so far safe against a power cut.
func (b *blobs) sync() error {
	b.mu.Lock()
	dirty := b.dirty
	b.dirty = map[string]bool{}
	b.mu.Unlock()
	for path := range dirty {
		if err := ignoreMissing(syncPath(path)); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			maps.Copy(b.dirty, dirty)
			return err
		}
	}
	return nil
}
