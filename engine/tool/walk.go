package tool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A walk visits the files below a folder in the order of their paths, without
// following links. Folders that git ignores are not entered, nor is .git.
type walk struct {
	root  string // with links resolved
	depth int    // how many folders deep it goes; -1 means all the way
	all   bool   // ignored files and .git too
	// visit gets each file: its path below root with slashes, and whether git
	// ignores it.
	visit func(rel string, d fs.DirEntry, ignored bool) error

	unreadable int // folders that could not be listed
}

func (w *walk) run(ctx context.Context) error {
	top, rules := w.rulesAbove()
	return w.folder(ctx, "", 0, split(top, w.root), rules)
}

// folder visits one folder; rel is its path below the root, parts below the top
// of the repository.
func (w *walk) folder(ctx context.Context, rel string, depth int, parts []string, rules ignoreRules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir := filepath.Join(w.root, rel)
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.unreadable++
	}
	if !w.all {
		rules = rules.withFile(filepath.Join(dir, ".gitignore"), len(parts))
	}
	for _, d := range entries {
		name := d.Name()
		if !w.all && name == ".git" {
			continue
		}
		below := append(parts[:len(parts):len(parts)], name)
		ignored := !w.all && rules.match(below, d.IsDir())
		path := name
		if rel != "" {
			path = rel + "/" + name
		}
		switch {
		case !d.IsDir():
			err = w.visit(path, d, ignored)
		case !ignored && (w.depth < 0 || depth < w.depth):
			err = w.folder(ctx, path, depth+1, below, rules)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rulesAbove are the ignore rules from the top of the repository down to the
// root's parent; none where the root itself is ignored, since whoever names an
// ignored folder means it. Outside a repository the root is the top.
func (w *walk) rulesAbove() (top string, rules ignoreRules) {
	top = repository(w.root)
	if w.all || top == "" {
		return w.root, nil
	}
	rules = rules.withFile(filepath.Join(top, ".git", "info", "exclude"), 0)
	parts := split(top, w.root)
	for i, name := range parts {
		dir := filepath.Join(append([]string{top}, parts[:i]...)...)
		rules = rules.withFile(filepath.Join(dir, ".gitignore"), i)
		if name == ".git" || rules.match(parts[:i+1], true) {
			return w.root, nil
		}
	}
	return top, rules
}

// repository is the nearest folder at or above dir that has a .git; empty when
// there is none.
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// split is the path of dir below top, in its parts.
func split(top, dir string) []string {
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." {
		return nil
	}
	return strings.Split(filepath.ToSlash(rel), "/")
}
