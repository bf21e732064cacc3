package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// abs makes a path of the model's absolute: relative ones begin at the working
// directory, "~/" at the home folder.
func (s *Set) abs(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL, which no file name can")
	case path == "~" || strings.HasPrefix(path, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, path[1:]), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(s.workingDir(), path), nil
}

// realPath resolves every link in an absolute path, also where its end, or the
// end of a link, does not exist yet.
func realPath(path string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent, err := realParent(path)
		if err != nil {
			return "", err
		}
		path = filepath.Join(parent, filepath.Base(path))
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // not there, and not a link: the name itself
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(parent, link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

func realParent(path string) (string, error) {
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	return realPath(parent)
}

// within reports whether path is dir or below it; both with links resolved.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// inside reports whether a path with links resolved lies in one of the folders.
func inside(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		real, err := realPath(filepath.Clean(dir))
		return err == nil && within(path, real)
	})
}

// homes are the folders that the agent works in.
func (s *Set) homes() []string {
	return append([]string{s.o.Workspace}, s.o.AddDirs...)
}

// writePath resolves a path that is to be written and says whether it may be.
func (s *Set) writePath(path string) (abs, real string, err error) {
	if abs, err = s.abs(path); err != nil {
		return "", "", err
	}
	if real, err = realPath(abs); err != nil {
		return "", "", err
	}
	switch s.o.PermissionMode {
	case "bypassPermissions":
		return abs, real, nil
	case "", "default", "acceptEdits":
	default:
		return "", "", fmt.Errorf("%s was not written: permission_mode is %s, so nothing is; say in your reply what should change", abs, s.o.PermissionMode)
	}
	if inside(real, append(s.homes(), s.o.Writable...)...) {
		return abs, real, nil
	}
	where := ""
	if real != abs {
		where = " (really " + real + ")"
	}
	return "", "", fmt.Errorf("%s%s lies outside the folders that may be written to: %s; write there, or say in your reply what should change",
		abs, where, strings.Join(append(s.homes(), s.o.Writable...), ", "))
}

// missing is the error for a path that does not exist, with names that may have
// been meant.
func (s *Set) missing(path string) error {
	hint := ""
	if near := s.nearNames(path); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	} else if dir := existing(filepath.Dir(path)); dir != filepath.Dir(path) {
		hint = "; the nearest folder that does is " + dir
	} else {
		hint = "; look for it with Glob"
	}
	return fmt.Errorf("%s does not exist%s", path, hint)
}

// existing is the nearest folder at or above path that exists.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}

// nearNames are at most three existing paths that look like path: its end below
// the workspace, or a like name in the same folder.
func (s *Set) nearNames(path string) []string {
	var near []string
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for i := range parts {
		p := filepath.Join(append([]string{s.o.Workspace}, parts[i:]...)...)
		if _, err := os.Stat(p); err == nil && p != path && p != s.o.Workspace {
			near = append(near, p)
			break
		}
	}
	base := filepath.Base(path)
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return near
	}
	defer dir.Close()
	entries, _ := dir.Readdirnames(5000) // a part of the names is as good for a hint
	slices.SortFunc(entries, func(a, b string) int { return likeness(base, a) - likeness(base, b) })
	for _, name := range entries {
		if len(near) == 3 || likeness(base, name) > 2 {
			break
		}
		near = append(near, filepath.Join(filepath.Dir(path), name))
	}
	return near
}

// likeness is how far a name is from the one wanted: 0 differs in case, 1 in
// the ending, else the number of edits.
func likeness(want, name string) int {
	switch {
	case strings.EqualFold(want, name):
		return 0
	case strings.EqualFold(stem(want), stem(name)):
		return 1
	}
	if len(want) < 4 {
		return 9
	}
	return edits(strings.ToLower(want), strings.ToLower(name), 3)
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// edits is the number of bytes to insert, delete or replace to get from a to b;
// most means that many or more.
func edits(a, b string, most int) int {
	if d := len(a) - len(b); d >= most || -d >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}
