package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

const mebibyte = 1 << 20

// ballast is what another program takes of the disk, and gives back.
const ballast = 32 * mebibyte

// fullCases are ways to run out of space.
var fullCases = []struct {
	name, work string
	disk       int // MiB
}{
	// The store stops by itself while there is space left.
	{"disk nearly full", "append", 320},
	// Told not to look, it runs into the end of the disk: the process may die of it.
	{"disk full to the last byte", "heedless-append", 160},
}

// fillDisks runs the cases on small disks of their own, below a folder. It runs in
// a child, whose mounts go with it, and prints a line for each case.
func fillDisks(ctx context.Context, dir string) error {
	for _, c := range fullCases {
		mount := filepath.Join(dir, c.work)
		if err := os.Mkdir(mount, 0o700); err != nil {
			return err
		}
		if err := mountSmall(mount, c.disk); err != nil {
			return fmt.Errorf("%w: %w", errNoMount, err)
		}
		line, err := fillDisk(ctx, mount, c.work)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("%s (%d MiB): %s\n", c.name, c.disk, line)
	}
	return nil
}

// errNoMount: there is no permission to mount, or no way.
var errNoMount = errors.New("no small disk can be mounted")

// fillDisk lets a process write until there is no space, makes room, and looks
// whether all is there that was acknowledged.
func fillDisk(ctx context.Context, mount, work string) (line string, err error) {
	taken := filepath.Join(mount, "ballast")
	if err := os.WriteFile(taken, bytes.Repeat([]byte{1}, ballast), 0o600); err != nil {
		return "", err
	}
	dir := filepath.Join(mount, "store")
	var said bytes.Buffer
	c, err := start(work, "s", dir, &said)
	if err != nil {
		return "", err
	}
	if c.drain() == nil {
		return "", errors.New("the writer ended without an error")
	}
	how, _, _ := strings.Cut(said.String(), "\n") // a process that dies of it says much more
	if work == "append" && !strings.Contains(how, "make room") {
		return "", fmt.Errorf("the error does not say what to do: %s", how)
	}
	if err := os.Remove(taken); err != nil {
		return "", err
	}
	st, err := store.Open(dir, &store.Options{GCEvery: -1, MinFree: -1})
	if err != nil {
		return "", fmt.Errorf("open with room again: %w", err)
	}
	have, err := verify(ctx, st, "s", 0)
	if err == nil && have < c.acked() {
		err = fmt.Errorf("%d entries, %d were acknowledged", have, c.acked())
	}
	if err == nil {
		_, err = st.Append(ctx, key("s"), have, []transcript.Entry{numbered("s", have+1, 0)})
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d entries acknowledged, %d there with room again, and it goes on; the writer ended with: %s", c.acked(), have, strings.TrimSpace(how)), nil
}

// diskFull runs the cases in a child.
func diskFull(ctx context.Context) (lines, failures []string) {
	dir, err := os.MkdirTemp("", "flower-crash-*")
	if err != nil {
		return nil, []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	cmd, err := apart(ctx, "full - "+dir)
	if err != nil {
		return []string{"disk full: left out: " + err.Error()}, nil
	}
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if text := strings.TrimSpace(string(out)); text != "" {
		lines = strings.Split(text, "\n")
	}
	said := strings.TrimSpace(told.String())
	switch {
	case err == nil:
		return lines, nil
	case strings.Contains(said, errNoMount.Error()), said == "":
		return append(lines, "disk full: left out: "+strings.TrimSpace(said+" "+err.Error())), nil
	}
	return lines, []string{"disk full: " + said}
}
