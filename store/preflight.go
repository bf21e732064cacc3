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
	"github.com/dgraph-io/ristretto/v2/z"
)

// preflight looks at the files of the database before Badger does. Badger answers
// some kinds of damage by ending the process and others by removing what it does not
// understand, so what it would not survive is an error here, and what it would
// remove is first laid aside, in the folder damaged.
//
// aside are tables that nothing refers to. After a crash that is normal; when
// something turns out to be missing, they may hold it.
func preflight(dir, damaged string) (aside []string, err error) {
	names, err := listNames(dir)
	if err != nil || len(names) == 0 {
		return nil, ignoreMissing(err)
	}
	tables, err := checkManifest(dir, names)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for id, t := range tables {
		name := table.IDToFilename(id)
		listed[name] = true
		if err := checkTable(filepath.Join(dir, name), t.Compression); err != nil {
			return nil, err
		}
	}
	if err := checkSmallFiles(dir, names); err != nil {
		return nil, err
	}
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, ".sst") && !listed[name]:
			to, err := layAside(filepath.Join(dir, name), damaged)
			if err != nil {
				return nil, err
			}
			aside = append(aside, to)
		case strings.HasSuffix(name, ".mem"):
			if err := mendLog(filepath.Join(dir, name), damaged); err != nil {
				return nil, err
			}
		}
	}
	return aside, retireValueLog(dir, names)
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

// checkTable reads a whole table.
func checkTable(path string, compression options.CompressionType) error {
	name := "db/" + filepath.Base(path)
	if err := checkFooter(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("its table %s is missing", name)
		}
		return fmt.Errorf("its table %s is damaged (%v)", name, err)
	}
	err := safely(func() error {
		mf, err := z.OpenMmapFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer mf.Close(-1)
		o := badgerOptions("", nil)
		t, err := table.OpenTable(mf, table.Options{
			BlockSize: o.BlockSize, Compression: compression, ChkMode: options.NoVerification,
		})
		if err != nil {
			return err
		}
		return t.VerifyChecksum()
	})
	if err != nil {
		return fmt.Errorf("its table %s is damaged (%v)", name, err)
	}
	return nil
}

// checkFooter makes sure that the last fields of a table lead to places within it:
//
//	… index, index length 4, checksum, checksum length 4
func checkFooter(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	number := func(at int64) (int64, error) {
		var b [4]byte
		if at < 0 {
			return 0, errors.New("it is cut off")
		}
		_, err := f.ReadAt(b[:], at)
		return int64(binary.BigEndian.Uint32(b[:])), err
	}
	sum, err := number(size - 4)
	if err != nil {
		return err
	}
	if sum < 2 || sum > 64 {
		return errors.New("its end makes no sense")
	}
	index, err := number(size - 8 - sum)
	if err != nil {
		return err
	}
	if index < 8 || index > size-8-sum {
		return errors.New("its end makes no sense")
	}
	return nil
}

// checkSmallFiles puts right what holds nothing that matters.
func checkSmallFiles(dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		var err error
		switch {
		case name == badger.KeyRegistryFileName:
			// There is no encryption here: 16 random bytes and a fixed text.
			if b, rerr := os.ReadFile(path); rerr != nil || len(b) != 28 || string(b[16:]) != "Hello Badger" {
				err = os.Remove(path)
			}
		case name == "DISCARD":
			if b, rerr := os.ReadFile(path); rerr != nil || !discardMakesSense(b, names) {
				err = os.Remove(path)
			}
		case strings.HasSuffix(name, ".mem"):
			// Empty: its process died between making and filling it.
			if info, serr := os.Stat(path); serr == nil && info.Size() == 0 {
				err = os.Remove(path)
			} else {
				err = mendHeader(path)
			}
		case strings.HasSuffix(name, ".vlog"):
			// The number of a value log is not used again, so the file stays.
			if info, serr := os.Stat(path); serr == nil && info.Size() < logHeader {
				err = os.WriteFile(path, emptyLog(), 0o600)
			} else {
				err = mendHeader(path)
			}
		}
		if err != nil {
			return err
		}
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
	next := path + ".mended"
	if err := os.WriteFile(next, scan.mended(), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// retireValueLog makes an empty file the newest value log. Badger reads the newest
// one whole, which takes time, and cuts it off at the first record that it cannot
// read, which may be in the middle. An older one it leaves alone.
func retireValueLog(dir string, names []string) error {
	newest := ""
	for _, n := range names {
		if strings.HasSuffix(n, ".vlog") {
			newest = n
		}
	}
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
