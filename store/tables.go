package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// Badger takes a block of a table that it cannot read for one that holds nothing, and
// leaves it out when it merges tables. So all tables are read when a store is opened:
// some before, as much as takes little time, the others soon after.

// readAtOnce is how much of the tables is read before a store is open, in bytes.
const readAtOnce = 16 << 20

// checkTables reads tables and returns those that are still to be read; of these it
// checks the index, for want of which Badger would end the process.
func checkTables(dir string, tables map[uint64]badger.TableManifest) (unread map[string]options.CompressionType, err error) {
	unread = map[string]options.CompressionType{}
	left := int64(readAtOnce)
	for id, t := range tables {
		path := table.NewFilename(id, dir)
		if info, err := os.Stat(path); err == nil {
			left -= info.Size()
		}
		all := left > 0
		if !all {
			unread[path] = t.Compression
		}
		if err := checkTable(path, t.Compression, all); err != nil {
			return nil, err
		}
	}
	return unread, nil
}

// readTables reads what was left unread. Tables come and go meanwhile.
func (e *engine) readTables(ctx context.Context, unread map[string]options.CompressionType) {
	for path, compression := range unread {
		if ctx.Err() != nil {
			return
		}
		err := checkTable(path, compression, true)
		if _, gone := os.Stat(path); err == nil || gone != nil {
			continue
		}
		broken := e.damaged(err.Error())
		e.broken.CompareAndSwap(nil, &broken)
		return
	}
}

// checkTable reads a table's index, or all of it.
func checkTable(path string, compression options.CompressionType, all bool) error {
	err := safely(func() error {
		t, err := openTable(path, compression, options.NoVerification)
		if err != nil {
			return err
		}
		defer t.close()
		if !all {
			return nil
		}
		return t.VerifyChecksum()
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its table db/%s is missing", filepath.Base(path))
	case err != nil:
		return fmt.Errorf("its table db/%s is damaged (%v)", filepath.Base(path), err)
	}
	return nil
}

// openedTable is a table in memory. Badger's way to open one maps the file, which
// ends the process should the file be removed meanwhile.
type openedTable struct {
	*table.Table
	f    *os.File
	data []byte
}

func openTable(path string, compression options.CompressionType, mode options.ChecksumVerificationMode) (*openedTable, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := tableIn(f, compression, mode)
	if err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

func tableIn(f *os.File, compression options.CompressionType, mode options.ChecksumVerificationMode) (t *openedTable, err error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if !endMakesSense(data) {
		return nil, errors.New("its end makes no sense")
	}
	t = &openedTable{f: f, data: data}
	err = safely(func() (err error) {
		t.Table, err = table.OpenTable(&z.MmapFile{Data: data, Fd: f}, table.Options{
			BlockSize: badgerOptions("", nil).BlockSize, Compression: compression, ChkMode: mode,
		})
		return err
	})
	return t, err
}

// close closes the file. The table's own Close would unmap memory that is not mapped.
func (t *openedTable) close() { t.f.Close() }

// endMakesSense reports whether the last fields of a table lead to places within it:
//
//	… index, index length 4, checksum, checksum length 4
func endMakesSense(data []byte) bool {
	size := int64(len(data))
	if size < 8 {
		return false
	}
	sum := int64(binary.BigEndian.Uint32(data[size-4:]))
	if sum < 2 || sum > 64 || size < 8+sum {
		return false
	}
	index := int64(binary.BigEndian.Uint32(data[size-8-sum:]))
	return index >= 8 && index <= size-8-sum
}
