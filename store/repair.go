package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// repairFolder is Repair.
func repairFolder(ctx context.Context, dir string, o Options) (CheckReport, error) {
	if _, err := os.Stat(dir); err != nil {
		return CheckReport{}, unavailable("repair %s (%v)", dir, err)
	}
	if err := prepareDir(dir); err != nil {
		return CheckReport{}, err
	}
	lock, err := takeLock(dir)
	if errors.Is(err, errBusy) {
		return CheckReport{}, unavailable("repair %s: another process has it open: end it", dir)
	}
	if err != nil {
		return CheckReport{}, err
	}
	defer lock.Close()
	if err := repairTables(filepath.Join(dir, dirDB), filepath.Join(dir, dirDamaged)); err != nil {
		return CheckReport{}, unavailable("repair %s (%v)", dir, err)
	}
	o.repair = true
	e, err := openEngine(dir, o)
	if err != nil {
		return CheckReport{}, err
	}
	l := &link{dir: dir, o: o, b: &owner{engine: e, dir: dir}}
	report, err := l.check(ctx)
	if err == nil {
		err = e.inside(func() error { return e.dropLost(ctx, &report) })
	}
	return report, errors.Join(err, e.rest(), e.close())
}

// repairTables lays damaged tables aside, keeps what can be read of them, and writes
// a list of tables that is true.
func repairTables(dir, damaged string) error {
	names, err := listNames(dir)
	if err != nil {
		return err
	}
	listed, listErr := checkManifest(dir, names)
	tables := map[uint64]badger.TableManifest{}
	changed := listErr != nil
	for _, name := range names {
		id, ok := table.ParseFileID(name)
		if !ok {
			continue
		}
		t, known := listed[id]
		if listErr != nil {
			// Their levels are not known, so all go to the one that has no order.
			t, known = badger.TableManifest{Compression: options.Snappy}, true
		}
		if !known {
			continue // preflight lays it aside
		}
		if checkTable(filepath.Join(dir, name), t.Compression, true) == nil {
			tables[id] = t
			continue
		}
		changed = true
		if kept, err := salvage(filepath.Join(dir, name), damaged, t.Compression); err != nil {
			return err
		} else if kept {
			tables[id] = t
		}
	}
	if !changed && len(tables) == len(listed) {
		return nil
	}
	return writeManifest(filepath.Join(dir, badger.ManifestFilename), tables)
}

// salvage lays a table aside and makes one of its readable blocks in its place, if
// there are any.
func salvage(path, damaged string, compression options.CompressionType) (kept bool, err error) {
	t, openErr := openTable(path, compression, options.OnBlockRead)
	if openErr == nil {
		defer t.close()
	}
	if _, err := layAside(path, damaged); err != nil {
		return false, err
	}
	if err := os.Remove(path); err != nil || openErr != nil {
		return false, err
	}
	err = safely(func() (err error) {
		kept, err = copyBlocks(t, path, compression)
		return err
	})
	return kept, err
}

// copyBlocks writes the blocks that can be read to a new table.
func copyBlocks(t *openedTable, to string, compression options.CompressionType) (any bool, err error) {
	o := badgerOptions("", nil)
	b := table.NewTableBuilder(table.Options{
		TableSize: uint64(o.BaseTableSize), BlockSize: o.BlockSize, BloomFalsePositive: o.BloomFalsePositive,
		Compression: compression, ChkMode: options.NoVerification,
	})
	defer b.Close()
	firsts := blockKeys(t.data)
	for i, first := range firsts {
		var next []byte
		if i+1 < len(firsts) {
			next = firsts[i+1]
		}
		_ = safely(func() error { copyBlock(t.Table, b, first, next); return nil })
	}
	if b.Empty() {
		return false, nil
	}
	made, err := table.CreateTable(to, b)
	if err != nil {
		return false, err
	}
	return true, made.Close(-1)
}

// copyBlock adds the keys from first up to next; none when the block is damaged.
func copyBlock(t *table.Table, b *table.Builder, first, next []byte) {
	it := t.NewIterator(0)
	defer it.Close()
	for it.Seek(first); it.Valid(); it.Next() {
		key := it.Key()
		if next != nil && y.CompareKeys(key, next) >= 0 {
			return
		}
		// The length of what a pointer points to serves statistics only.
		b.Add(y.SafeCopy(nil, key), it.Value(), 0)
	}
}

// blockKeys are the first keys of a table's blocks. Its index has been checked.
func blockKeys(data []byte) (keys [][]byte) {
	end := len(data) - 4
	end -= int(binary.BigEndian.Uint32(data[end:])) + 4
	start := end - int(binary.BigEndian.Uint32(data[end:]))
	index := fb.GetRootAsTableIndex(data[start:end], 0)
	for i := range index.OffsetsLength() {
		var block fb.BlockOffset
		if index.Offsets(&block, i) {
			keys = append(keys, append([]byte(nil), block.KeyBytes()...))
		}
	}
	return keys
}

// writeManifest replaces Badger's list of tables:
//
//	"Bdgr", external version 2, version 2, length 4, CRC-32C 4, changes
//
// where a change is a protocol buffer of a table's number, level and compression.
func writeManifest(path string, tables map[uint64]badger.TableManifest) error {
	const version = 8
	var changes []byte
	for id, t := range tables {
		var c []byte
		c = binary.AppendUvarint(append(c, 1<<3), id)
		c = binary.AppendUvarint(append(c, 3<<3), uint64(t.Level))
		c = binary.AppendUvarint(append(c, 6<<3), uint64(t.Compression))
		changes = binary.AppendUvarint(append(changes, 1<<3|2), uint64(len(c)))
		changes = append(changes, c...)
	}
	b := append([]byte("Bdgr"), 0, 0, 0, version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(changes)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(changes, crcTable))
	b = append(b, changes...)
	next := path + suffixNew
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := syncPath(next); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncPath(strings.TrimSuffix(path, badger.ManifestFilename))
}
