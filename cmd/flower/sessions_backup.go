package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/charmbracelet/x/term"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/store"
)

// A backup is a zip archive of what makes a run directory: these files, and the
// store's own backup under the name of its folder.
var besideStore = []string{"id", "lineage.json", "manifest.json"}

const (
	storeFolder = "sessions"
	maxBeside   = 1 << 30 // bytes of a file beside the store; a larger one is no backup of ours
)

// backupRun writes a run directory to a file or to standard output. What is damaged
// is in it as far as it can be read, and told as an error.
func (a *app) backupRun(ctx context.Context, c *cli, f *runFolder) error {
	to := c.Sessions.Backup.File
	var damage error
	fill := func(w io.Writer) error {
		err := f.backup(ctx, w)
		if errors.Is(err, transcript.ErrDamaged) {
			damage, err = err, nil
		}
		return err
	}
	if to != "-" {
		if err := checkOutput("backup", to); err != nil {
			return err
		}
		if err := writeNew(to, fill); err != nil {
			return err
		}
		if info, err := os.Stat(to); err == nil {
			fmt.Fprintf(a, "%s: %s\n", shownPath(to), byteSize(info.Size()))
		}
		return damage
	}
	if out, ok := a.out.(*os.File); ok && term.IsTerminal(out.Fd()) {
		return wrongUse("a backup is no text: send it to a file, or name one")
	}
	p := newPage(a.out)
	return errors.Join(fill(p), p.Flush(), damage)
}

// backup writes the archive. The files come first: sessions that are younger than
// they are do no harm.
func (f *runFolder) backup(ctx context.Context, w io.Writer) error {
	z := zip.NewWriter(w)
	for _, name := range besideStore {
		raw, err := os.ReadFile(filepath.Join(f.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		part, err := z.Create(name)
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		if _, err := part.Write(raw); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	part, err := z.Create(storeFolder)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	err = f.db.Backup(ctx, part)
	if err != nil && !errors.Is(err, transcript.ErrDamaged) {
		return err
	}
	return errors.Join(err, z.Close())
}

// restoreRun makes a new run directory from a backup.
func (a *app) restoreRun(ctx context.Context, c *cli) error {
	_, dir, err := c.places()
	if err != nil {
		return err
	}
	for _, name := range append(slices.Clone(besideStore), storeFolder) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s holds a run already (%s): name a new run directory, flower -r DIR sessions restore …", shownPath(dir), name)
		}
	}
	if from := c.Sessions.Restore.File; from != "-" {
		if err := checkInput("restore", from, ""); err != nil {
			return err
		}
	}
	file, size, err := openBackup(c.Sessions.Restore.File)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("restore: %s is no backup that sessions backup wrote, or not a whole one (%w)", c.Sessions.Restore.File, err)
	}
	if err := unpack(ctx, z, dir); err != nil {
		return fmt.Errorf("restore %s: %w", c.Sessions.Restore.File, err)
	}
	db, err := store.Open(filepath.Join(dir, storeFolder), &store.Options{GCEvery: -1})
	if err != nil {
		return err
	}
	r, err := db.Check(ctx)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a, "%s: %s, %s\n", shownPath(dir), count(r.Transcripts, "transcript"), entryCount(r.Entries))
	return nil
}

// openBackup opens the archive; standard input goes to a file first, for an archive
// is read from its end.
func openBackup(name string) (*os.File, int64, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, 0, fmt.Errorf("restore: %w", err)
		}
		info, err := file.Stat()
		if err != nil {
			return nil, 0, errors.Join(fmt.Errorf("restore: %w", err), file.Close())
		}
		return file, info.Size(), nil
	}
	file, err := os.CreateTemp("", "flower-restore-*")
	if err != nil {
		return nil, 0, fmt.Errorf("restore: %w", err)
	}
	// Without its name the file is gone when it is closed.
	size, err := io.Copy(file, os.Stdin)
	if err := errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("restore: %w", err), file.Close())
	}
	return file, size, nil
}

// unpack makes the run directory: the store first, whose parts are checked, then
// what lies beside it. On an error nothing of it stays.
func unpack(ctx context.Context, z *zip.Reader, dir string) (err error) {
	parts := map[string]*zip.File{}
	for _, part := range z.File {
		parts[part.Name] = part
	}
	if parts[storeFolder] == nil {
		return errors.New("it is a zip archive, but no backup of flower's")
	}
	_, statErr := os.Lstat(dir)
	if err := makeRunDir(dir); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		for _, name := range append(slices.Clone(besideStore), storeFolder) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
		if statErr != nil {
			err = errors.Join(err, os.Remove(filepath.Join(dir, ".gitignore")), os.Remove(dir))
		}
	}()
	stream, err := parts[storeFolder].Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := store.Restore(ctx, filepath.Join(dir, storeFolder), stream, nil); err != nil {
		return err
	}
	for _, name := range besideStore {
		if part := parts[name]; part != nil {
			if err := unpackFile(part, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpackFile(part *zip.File, path string) error {
	stream, err := part.Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	raw, err := io.ReadAll(io.LimitReader(stream, maxBeside))
	if err != nil {
		return err
	}
	return atomicfile.Write(path, raw, 0o644)
}
