package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

const globSchema = `{"type":"object","properties":{
"pattern":{"type":"string","description":"Such as **/*.go, src/*.{ts,tsx}"},
"path":{"type":"string","description":"The folder to look in; the working directory if not given"},
"include_ignored":{"type":"boolean","description":"Also what git ignores, and .git"}},
"required":["pattern"]}`

type globInput struct {
	Pattern        string `json:"pattern"`
	Path           string `json:"path"`
	IncludeIgnored truth  `json:"include_ignored"`
}

type globbed struct {
	path string
	time time.Time
}

func (s *Set) glob(ctx context.Context, c Call) Result {
	var in globInput
	if err := decode(c, &in, "pattern"); err != nil {
		return inputError("Glob", err)
	}
	if in.Pattern == "" || !doublestar.ValidatePattern(in.Pattern) {
		return inputError("Glob", fmt.Errorf("%q is not a pattern: a bracket or brace may not be closed", in.Pattern))
	}
	if strings.ContainsRune(in.Pattern, 0) {
		return TextResult("no file matches: no file name holds a NUL")
	}
	root, err := s.folder(cmp.Or(in.Path, "."))
	if err != nil {
		return ErrorResult(err.Error())
	}
	ctx, stop := s.bound(ctx, s.lim.GrepTimeout)
	defer stop()
	found, note, err := globFiles(ctx, root, in)
	text := s.globText(found, in) + note
	if err != nil {
		return ErrorResult(fmt.Sprintf("%s; this is what was found until then:\n%s", stopped(ctx, s.lim.GrepTimeout), text))
	}
	return TextResult(text)
}

// folder is an existing folder that a search starts in.
func (s *Set) folder(path string) (string, error) {
	path, err := s.abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", s.missing(path)
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file, not a folder; give a folder as path, or read the file", path)
	}
	return path, nil
}

// globFiles finds the files below root, named as the pattern begins: with links
// kept in their paths.
func globFiles(ctx context.Context, root string, in globInput) (found []globbed, note string, err error) {
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	if filepath.IsAbs(base) {
		root = filepath.Clean(base)
	} else {
		root = filepath.Join(root, base)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, "", nil // the pattern begins with a folder that is not there: nothing matches
	}
	w := walk{root: real, depth: depthOf(pattern), all: bool(in.IncludeIgnored)}
	w.visit = func(rel string, d fs.DirEntry, ignored bool) error {
		if ignored {
			return nil
		}
		if ok, err := doublestar.Match(pattern, rel); !ok || err != nil {
			return err
		}
		g := globbed{path: filepath.Join(root, rel)}
		if info, err := d.Info(); err == nil {
			g.time = info.ModTime()
		}
		found = append(found, g)
		return nil
	}
	err = w.run(ctx)
	if w.unreadable > 0 {
		note = fmt.Sprintf("\n[%s could not be read]", plural(w.unreadable, "folder"))
	}
	return found, note, err
}

// depthOf is how many folders deep a pattern can match; -1 means any depth.
func depthOf(pattern string) int {
	if strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "{\\") {
		return -1
	}
	return strings.Count(pattern, "/")
}

func (s *Set) globText(found []globbed, in globInput) string {
	if len(found) == 0 {
		hint := ""
		if !strings.Contains(in.Pattern, "/") && !strings.Contains(in.Pattern, "**") {
			hint = fmt.Sprintf("; **/%s looks in all folders below", in.Pattern)
		}
		return "no file matches" + hint
	}
	slices.SortFunc(found, func(a, b globbed) int {
		return cmp.Or(b.time.Compare(a.time), strings.Compare(a.path, b.path))
	})
	var lines []string
	for _, g := range found[:min(len(found), s.lim.GlobFiles)] {
		lines = append(lines, clean([]byte(s.shown(g.path))))
	}
	if len(found) > len(lines) {
		lines = append(lines, fmt.Sprintf("[the newest %d of %d files; make the pattern narrower to see others]", len(lines), len(found)))
	}
	return strings.Join(lines, "\n")
}

// bound is a context for one search: it ends after the limit, with ctx, and with
// the Set. stop must be called.
func (s *Set) bound(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-over
	}
}

// stopped says why a bounded search ended before its time.
func stopped(ctx context.Context, limit time.Duration) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("timed out after %v and is not complete: narrow it with path or a narrower pattern", limit)
	}
	return "cancelled before it was complete"
}
