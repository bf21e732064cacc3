package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
)

// preflight looks at the files of the database before Badger does. Badger answers
// some kinds of damage by ending the process and others by removing what it does not
// understand, so what it would not survive is an error here, and what it would
// remove is first laid aside, in the folder damaged.
func preflight(dir, damaged string) (f findings, err error) {
	names, err := listNames(dir)
	if err != nil || len(names) == 0 {
		return f, ignoreMissing(err)
	}
	tables, err := checkManifest(dir, names)
	if err != nil {
		return f, err
	}
	if f.unread, err = checkTables(dir, tables); err != nil {
		return f, err
	}
	for _, name := range names {
		if err := mendFile(dir, name, names, damaged); err != nil {
			return f, err
		}
		id, ok := table.ParseFileID(name)
		if _, listed := tables[id]; !ok || listed {
			continue
		}
		to, err := layAside(filepath.Join(dir, name), damaged)
		if err != nil {
			return f, err
		}
		f.aside = append(f.aside, to)
	}
	return f, retireValueLog(dir, names)
}

// findings are what preflight leaves to be done later.
type findings struct {
	// aside are tables that nothing refers to, and journals whose end a power cut took in
	// pieces. That is normal; when something turns out to be missing, they may hold it.
	aside []string
	// unread are tables of which only the index was checked, with their form.
	unread map[string]options.CompressionType
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkManifest reads the list of tables. Without it Badger would take the store
// for a new one, and remove all tables.
func checkManifest(dir string, names []string) (map[uint64]badger.TableManifest, error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		for _, n := range names {
			if ext := filepath.Ext(n); ext == ".sst" || ext == ".mem" || ext == ".vlog" {
				return nil, errors.New("the list of its tables, db/MANIFEST, is missing")
			}
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var m badger.Manifest
	err = safely(func() (err error) {
		m, _, err = badger.ReplayManifestFile(f, 0, badger.Options{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the list of its tables, db/MANIFEST, is damaged (%v)", err)
	}
	return m.Tables, nil
}

// mendFile puts right what holds nothing that matters, and what can be put right.
func mendFile(dir, name string, names []string, damaged string) error {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	switch {
	case name == badger.KeyRegistryFileName:
		// There is no encryption here: 16 random bytes and a fixed text.
		if b, err := os.ReadFile(path); err != nil || len(b) != 28 || string(b[16:]) != "Hello Badger" {
			return os.Remove(path)
		}
	case name == "DISCARD":
		if b, err := os.ReadFile(path); err != nil || !discardMakesSense(b, names) {
			return os.Remove(path)
		}
	case strings.HasSuffix(name, ".mem") && info.Size() == 0:
		// Its process died between making and filling it.
		return os.Remove(path)
	case strings.HasSuffix(name, ".vlog") && info.Size() < logHeader:
		// The number of a value log is not used again, so the file stays.
		return os.WriteFile(path, emptyLog(), 0o600)
	case strings.HasSuffix(name, ".mem"):
		return errors.Join(mendHeader(path), mendLog(path, damaged))
	case strings.HasSuffix(name, ".vlog"):
		return mendHeader(path)
	}
	return nil
}

// discardMakesSense checks the statistics about value logs, which have no checksum.
// Badger looks for the worst file in them, for ever if that does not exist.
func discardMakesSense(b []byte, names []string) bool {
	if len(b) < 1<<20 || len(b)&(len(b)-1) != 0 {
		return false
	}
	newest := uint64(0)
	for _, n := range names {
		if id, ok := strings.CutSuffix(n, ".vlog"); ok {
			if v, err := strconv.ParseUint(id, 10, 32); err == nil {
				newest = max(newest, v)
			}
		}
	}
	last := uint64(0)
	for ; len(b) >= 16; b = b[16:] {
		file, waste := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		if file == 0 {
			return true
		}
		if file <= last || file > newest || waste > 1<<33 {
			return false
		}
		last = file
	}
	return true
}

// mendHeader puts right the beginning of a log: the number of an encryption key, of
// which there is none here.
func mendHeader(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var key, none [8]byte
	if _, err := f.ReadAt(key[:], 0); err != nil && err != io.EOF {
		return err
	}
	if key == none {
		return nil
	}
	_, err = f.WriteAt(none[:], 0)
	return err
}

// emptyLog is a log without records, unencrypted.
func emptyLog() []byte {
	b := make([]byte, logHeader)
	rand.Read(b[8:]) // never fails
	return b
}

// layAside gives a file a second name in the folder damaged.
func layAside(path, damaged string) (to string, err error) {
	if err := os.MkdirAll(damaged, 0o700); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to = filepath.Join(damaged, fmt.Sprintf("%d-%s", n, filepath.Base(path)))
		if err := os.Link(path, to); !errors.Is(err, fs.ErrExist) {
			return to, err
		}
	}
}

// mendLog takes out of the log of a memory table what cannot be read, if there is
// more behind it, and lays the original aside.
func mendLog(path, damaged string) error {
	scan, err := scanLog(path)
	if err != nil || !scan.torn() {
		return ignoreMissing(err)
	}
	if _, err := layAside(path, damaged); err != nil {
		return err
	}
	return replaceFile(path, scan.mended())
}

// retireValueLog makes an empty file the newest value log. Badger reads the newest
// one whole, which takes time, and cuts it off at the first record that it cannot
// read, which may be in the middle. An older one it leaves alone.
func retireValueLog(dir string, names []string) error {
	newest := lastWith(names, ".vlog")
	if newest == "" {
		return nil
	}
	path := filepath.Join(dir, newest)
	info, err := os.Stat(path)
	if err != nil || info.Size() == logHeader {
		return err
	}
	// It was made far too long and, unless its process died, cut to size.
	if end, err := dataEnd(path); err == nil && end < info.Size() {
		if err := os.Truncate(path, max(end, logHeader)); err != nil {
			return err
		}
		// Nobody will sync it later.
		if err := syncPath(path); err != nil {
			return err
		}
	}
	id, err := strconv.ParseUint(strings.TrimSuffix(newest, ".vlog"), 10, 32)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.vlog", id+1)), emptyLog(), 0o600)
}

// dataEnd is where the hole at the end of a file begins; its size, if it has none
// or the file system does not tell.
func dataEnd(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end := int64(0)
	for {
		data, err := f.Seek(end, seekData)
		if errors.Is(err, syscall.ENXIO) {
			return end, nil
		}
		if err != nil {
			info, err := f.Stat()
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		}
		if end, err = f.Seek(data, seekHole); err != nil {
			return 0, err
		}
	}
}
