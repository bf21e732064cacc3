package workbench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flowerlua/flower/internal/atomicfile"
)

const (
	scripts   = "scripts"
	artifacts = "artifacts"
	notes     = "notes"
	spill     = "spill"
	indexName = "INDEX.md"

	promptFiles = 40 // files of a folder that the prompt block names
)

// categories are the folders that the index lists, in its order.
var categories = []string{scripts, artifacts, notes}

func (b *Bench) makeFolders() error {
	for _, name := range append([]string{spill}, categories...) {
		dir := filepath.Join(b.root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			if errors.Is(err, fs.ErrExist) || isFile(dir) {
				return fmt.Errorf("workbench: %s is not a folder: move it away: %w", dir, err)
			}
			return fmt.Errorf("workbench: %w", err)
		}
	}
	if err := ignore(b.root); err != nil {
		return fmt.Errorf("workbench: %w", err)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func (b *Bench) refresh() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.makeFolders(); err != nil {
		return err
	}
	index := b.index()
	if holds(b.IndexFile(), index) {
		return nil
	}
	if err := atomicfile.Write(b.IndexFile(), []byte(index), 0o644); err != nil {
		return fmt.Errorf("workbench index: %w", err)
	}
	return nil
}

// index renders INDEX.md.
func (b *Bench) index() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n%s\n", b.words.title, b.words.generated)
	for _, category := range categories {
		dir := filepath.Join(b.root, category)
		found := list(dir)
		files := take(dir, found.files, maxFiles)
		fmt.Fprintf(&out, "\n## %s (%d)\n\n", category, len(files))
		shown := b.Shown(dir)
		for _, f := range files {
			out.WriteString("- " + f.shown(shown))
			if f.desc != "" {
				out.WriteString(" — " + f.desc)
			}
			out.WriteString(" (" + size(f.size) + ")\n")
		}
		switch {
		case found.more:
			out.WriteString("- " + b.words.notListed + "\n")
		case len(files) == 0:
			out.WriteString(b.words.empty + "\n")
		}
	}
	return out.String()
}

func (b *Bench) prompt() string {
	var out strings.Builder
	out.WriteString(b.words.rules(b.Shown(b.Scripts()), b.Shown(b.Artifacts()), b.Shown(b.Notes())))
	if b.Outside() {
		out.WriteString(b.words.absolute + "\n")
	}
	any := false
	for _, category := range categories {
		dir := filepath.Join(b.root, category)
		found := list(dir)
		total := len(found.files)
		files := take(dir, found.files, promptFiles)
		if len(files) == 0 {
			continue
		}
		any = true
		fmt.Fprintf(&out, "\n%s/\n", b.Shown(dir))
		for _, f := range files {
			out.WriteString("- " + f.shown(b.Shown(dir)))
			if f.desc != "" {
				out.WriteString(" — " + ellipsis(f.desc))
			}
			out.WriteByte('\n')
		}
		if total > promptFiles {
			fmt.Fprintf(&out, b.words.more+"\n", total-len(files), b.Shown(b.IndexFile()))
		}
	}
	if !any {
		out.WriteString("\n" + b.words.nothing + "\n")
	}
	return out.String()
}

// shown is the file's path behind the shown path of its category, quoted as a
// Go string where it holds what would break a line or its marks.
func (f file) shown(category string) string {
	p := path.Join(category, f.folder, f.name)
	odd := func(r rune) bool { return r == '`' || r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.ContainsFunc(p, odd) {
		return strconv.Quote(p)
	}
	return "`" + p + "`"
}

func ellipsis(text string) string {
	if short := cut(text, maxDesc); short != text {
		return short + "…"
	}
	return text
}

// size prints n bytes with at most four characters of number.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		value /= 1024
		if value < 999.5 {
			if value < 9.95 {
				return fmt.Sprintf("%.1f %s", value, unit)
			}
			return fmt.Sprintf("%.0f %s", value, unit)
		}
	}
	return fmt.Sprintf("%.0f EiB", value/1024)
}
