package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/flowerlua/flower/internal/atomicfile"
)

const writeSchema = `{"type":"object","properties":{
"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},
"content":{"type":"string","description":"All of the new content"}},
"required":["file_path","content"]}`

type writeInput struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
}

func (s *Set) write(_ context.Context, c Call) Result {
	var in writeInput
	if err := decode(c, &in, "file_path", "content"); err != nil {
		return inputError("Write", err)
	}
	path, real, err := s.writePath(in.Path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	old, err := s.currentContent(path, real)
	if err != nil {
		return ErrorResult(err.Error())
	}
	content := []byte(in.Content)
	verb := "written"
	if old != nil {
		verb = "replaced"
		content = keepForm(old, content)
		if err := s.knowsAll(path, real, old); err != nil {
			return ErrorResult(err.Error())
		}
	}
	if err := atomicfile.Write(real, content, 0o644); err != nil {
		return ErrorResult(fmt.Sprintf("%v; the file is as it was", err))
	}
	rec := record{}
	if int64(len(content)) <= s.lim.EditBytes {
		rec.Receipts = []receipt{s.wrote(real, content, true)}
	}
	lines := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		lines++
	}
	return TextResult(fmt.Sprintf("%s %s: %s", verb, s.shown(path), plural(lines, "line"))).with(rec)
}

// currentContent is what a file to be changed holds; nil when it does not exist.
func (s *Set) currentContent(path, real string) ([]byte, error) {
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give the path of a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%v), so it cannot be changed", path, info.Mode().Type())
	case info.Size() > s.lim.EditBytes:
		return nil, fmt.Errorf("%s has %s; files of more than %s are not changed by this tool: use Bash (sed, a script), and to replace all of it remove it first",
			path, size(info.Size()), size(s.lim.EditBytes))
	}
	content, err := os.ReadFile(real)
	if content == nil && err == nil {
		content = []byte{}
	}
	return content, err
}

// knowsAll is nil when the model has seen all of what it is about to replace.
func (s *Set) knowsAll(path, real string, old []byte) error {
	r, ok := s.receiptOf(real)
	switch {
	case len(old) == 0:
		return nil
	case !ok:
		return fmt.Errorf("%s exists and has not been read; read it first, or change a part of it with Edit after that", path)
	case r.Hash != hashOf(old):
		return fmt.Errorf("%s has changed since it was read; read it again first", path)
	case len(r.Seen) > 0:
		return fmt.Errorf("%s has been read in part only; read the rest of it first, or change a part of it with Edit", path)
	}
	return nil
}

// keepForm gives new content what the old had and the model cannot see: its
// line ends, if they were all CRLF, and its byte order mark.
func keepForm(old, content []byte) []byte {
	bom := []byte("\ufeff")
	crlf := bytes.Count(old, []byte("\r\n"))
	if crlf > 0 && crlf == bytes.Count(old, []byte("\n")) && !bytes.Contains(content, []byte("\r\n")) {
		content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(old, bom) && !bytes.HasPrefix(content, bom) {
		content = append(bom, content...)
	}
	return content
}
