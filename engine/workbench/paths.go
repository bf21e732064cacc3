package workbench

import (
	"path/filepath"
	"strings"
)

func (b *Bench) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.workspace, path)
	}
	return filepath.Clean(path)
}

func (b *Bench) shown(path string) string {
	path = b.absolute(path)
	if rel, ok := within(b.workspace, path); ok {
		return filepath.ToSlash(rel)
	}
	// The workspace may have been given by another name than the path, say
	// through a link.
	if rel, ok := within(b.realWorkspace, resolve(path)); ok {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

func (b *Bench) contains(path string) bool {
	path = b.absolute(path)
	if _, ok := within(b.realRoot, resolve(path)); ok {
		return true
	}
	// The root may have become, or ceased to be, a link since.
	_, ok := within(resolve(b.root), resolve(path))
	return ok
}

// within gives path relative to dir when it is dir or lies in it. Both are
// absolute and clean.
func within(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// resolve follows the links of path as far as it exists; what does not exist
// yet is kept as it is written.
func resolve(path string) string {
	rest := ""
	for dir := path; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}
