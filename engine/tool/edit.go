package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flowerlua/flower/internal/atomicfile"
)

const editSchema = `{"type":"object","properties":{
"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},
"old_string":{"type":"string","description":"The text to replace, exactly as it is in the file, without line numbers"},
"new_string":{"type":"string","description":"The text to put in its place"},
"replace_all":{"type":"boolean","description":"Replace every occurrence; without, there must be exactly one"}},
"required":["file_path","old_string","new_string"]}`

type editInput struct {
	Path string `json:"file_path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  truth  `json:"replace_all"`
}

func (s *Set) edit(_ context.Context, c Call) Result {
	var in editInput
	if err := decode(c, &in, "file_path", "old_string", "new_string"); err != nil {
		return inputError("Edit", err)
	}
	switch {
	case in.Old == "":
		return inputError("Edit", errors.New("old_string is empty; use Write for a new file, and for an insertion give the line beside it"))
	case in.Old == in.New:
		return inputError("Edit", errors.New("old_string and new_string are the same, so there is nothing to change"))
	}
	path, real, err := s.writePath(in.Path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	old, err := s.currentContent(path, real)
	if err != nil {
		return ErrorResult(err.Error())
	}
	if old == nil {
		return ErrorResult(s.missing(path).Error())
	}
	seen, ok := s.receiptOf(real)
	if !ok {
		return ErrorResult(fmt.Sprintf("%s has not been read; read it first", path))
	}
	changed := seen.Hash != hashOf(old)
	found := findAll(old, in.Old, !bool(in.All))
	if err := checkMatches(path, old, in, found, changed); err != nil {
		return ErrorResult(err.Error())
	}
	content := replaceAll(old, found, in.Old, in.New)
	if err := atomicfile.Write(real, content, 0o644); err != nil {
		return ErrorResult(fmt.Sprintf("%v; the file is as it was", err))
	}
	text := fmt.Sprintf("edited %s: %s, line %s", s.shown(path), plural(len(found), "replacement"), lineList(old, found))
	if changed {
		text += "\nthe file had changed since it was read: what you know of the rest may be out of date"
	}
	return TextResult(text).with(record{Receipts: []receipt{s.wrote(real, content, !changed && len(seen.Seen) == 0)}})
}

// checkMatches refuses an edit whose place is not certain.
func checkMatches(path string, content []byte, in editInput, found []span, changed bool) error {
	switch {
	case len(found) == 0:
		again := ""
		if changed {
			again = " (it has changed since it was read)"
		}
		return fmt.Errorf("old_string is not in %s%s\n%s", path, again, nearest(content, in.Old))
	case len(found) == 1:
		return nil
	case changed:
		return fmt.Errorf("%s has changed since it was read, and old_string is in it %d times (lines %s); read it again first",
			path, len(found), lineList(content, found))
	case !bool(in.All):
		return fmt.Errorf("old_string is in %s %d times (lines %s); add lines around it until it is unique, or set replace_all",
			path, len(found), lineList(content, found))
	}
	return nil
}

// lineList names the lines where spans begin, the first ten.
func lineList(content []byte, found []span) string {
	var out []string
	line, at := 1, 0
	for i, f := range found {
		if i == 10 {
			out = append(out, "…")
			break
		}
		line += bytes.Count(content[at:f.from], []byte("\n"))
		at = f.from
		out = append(out, fmt.Sprint(line))
	}
	return strings.Join(out, ", ")
}
