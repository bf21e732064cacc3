package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const readSchema = `{"type":"object","properties":{
"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},
"offset":{"type":"integer","description":"The first line to show, counted from 1"},
"limit":{"type":"integer","description":"How many lines to show"},
"pages":{"type":"string","description":"Of a PDF: which pages, such as 3 or 1-5"}},
"required":["file_path"]}`

type readInput struct {
	Path   string `json:"file_path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
	Pages  string `json:"pages"`
}

// sniffBytes is how much of a file decides what it is.
const sniffBytes = 8 << 10

func (s *Set) read(ctx context.Context, c Call) Result {
	var in readInput
	if err := decode(c, &in, "file_path"); err != nil {
		return inputError("Read", err)
	}
	if in.Offset < 0 || in.Limit < 0 {
		return inputError("Read", errors.New("offset and limit count lines and cannot be negative"))
	}
	path, err := s.abs(in.Path)
	if err != nil {
		return inputError("Read", err)
	}
	f, info, err := s.openFile(path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	defer f.Close()
	start := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrorResult(err.Error())
	}
	start = start[:n]
	switch kind := http.DetectContentType(start); {
	case kind == "application/pdf":
		return s.readPDF(path, info.Size(), in.Pages)
	case isImage(kind):
		return s.readImage(path, info.Size())
	case bytes.IndexByte(start, 0) >= 0:
		return ErrorResult(binaryHint(path, start, info.Size()))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ErrorResult(err.Error())
	}
	return s.readText(ctx, f, info, path, in)
}

// openFile opens a regular file; the errors tell what to do instead.
func (s *Set) openFile(path string) (*os.File, fs.FileInfo, error) {
	// Looked at before it is opened: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, s.missing(path)
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return nil, nil, fmt.Errorf("%s is a folder; list it with Glob (pattern \"*\", path %q) or with ls", path, path)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file (%v), so it cannot be read", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	return f, info, err
}

func binaryHint(path string, start []byte, bytesLong int64) string {
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		return fmt.Sprintf("%s is UTF-16 text; convert it first, with Bash: iconv -f UTF-16 -t UTF-8", path)
	}
	return fmt.Sprintf("%s is a binary file (%s), not text; look at it with Bash (file, strings, xxd, or a program for its kind)", path, size(bytesLong))
}

func (s *Set) readText(ctx context.Context, f io.Reader, info fs.FileInfo, path string, in readInput) Result {
	p := s.newPager(f, info.Size(), in)
	if err := p.run(ctx); err != nil {
		return ErrorResult(fmt.Sprintf("%s: %v", path, err))
	}
	if p.total == 0 {
		return TextResult("[the file is empty]").with(s.pageReceipt(path, p))
	}
	if len(p.shown) == 0 {
		return TextResult(fmt.Sprintf("[the file has %s; offset %d is past its end]", plural(p.total, "line"), p.first))
	}
	return TextResult(strings.Join(p.shown, "\n") + p.footer()).with(s.pageReceipt(path, p))
}

// pageReceipt keeps what the model has seen of a file, if that is small enough
// to be edited.
func (s *Set) pageReceipt(path string, p *pager) record {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || p.hash == nil {
		return record{}
	}
	hash := sumOf(p.hash)
	return record{Receipts: []receipt{s.sawPage(real, hash, p.first, p.last, p.total)}}
}
