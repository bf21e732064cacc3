package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// ProblemKind says what is wrong with a line of a transcript file, or with an
// entry in the tree.
type ProblemKind string

// The kinds. A line with one of the first four is not loaded, or only the part of
// it that could be saved.
const (
	Torn      ProblemKind = "torn"           // no JSON object: cut off, or written into another line
	Zeroed    ProblemKind = "zeroed"         // holds zero bytes, as a crash of the machine leaves them
	TooLong   ProblemKind = "too long"       // longer than the limit
	Duplicate ProblemKind = "duplicate"      // a uuid that an earlier entry has; that one stays
	BadText   ProblemKind = "bad text"       // loaded; a view mends what is no Unicode
	Unknown   ProblemKind = "unknown type"   // loaded
	NoParent  ProblemKind = "missing parent" // loaded; the parent is not in the file
	Cycle     ProblemKind = "parent cycle"   // loaded; following parents leads round in a circle
)

// Problem is one thing that is wrong.
type Problem struct {
	Line   int // from 1; 0 when it is not about a line
	Kind   ProblemKind
	Detail string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Kind, p.Detail)
	}
	return fmt.Sprintf("line %d: %s: %s", p.Line, p.Kind, p.Detail)
}

// maxProblems is how many problems a report lists; all are counted.
const maxProblems = 100

// ImportReport is what Import found.
type ImportReport struct {
	Lines    int // with something in them
	Loaded   int // entries
	Problems []Problem
	Counts   map[ProblemKind]int
}

func (r *ImportReport) add(line int, kind ProblemKind, detail string, args ...any) {
	if r.Counts == nil {
		r.Counts = map[ProblemKind]int{}
	}
	r.Counts[kind]++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{line, kind, fmt.Sprintf(detail, args...)})
	}
}

// String is the report in one line.
func (r ImportReport) String() string {
	s := fmt.Sprintf("%d of %d lines loaded", r.Loaded, r.Lines)
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		s += fmt.Sprintf(", %d %s", r.Counts[kind], kind)
	}
	return s
}

// ImportOptions bound an Import. nil will do.
type ImportOptions struct {
	MaxLine int // bytes of the longest line that is loaded; 0 is 64 MiB
}

const defaultMaxLine = 64 << 20

// Import reads a transcript in Claude Code's form, one JSON object a line. Every
// line that is whole becomes an entry with exactly its bytes, whatever its type; of
// what is broken it saves what can be saved, and the report says what was wrong.
// The error is that of reading r; the entries are then those before it.
func Import(r io.Reader, o *ImportOptions) ([]Entry, ImportReport, error) {
	im := importer{limit: defaultMaxLine, seen: map[string]bool{}, types: map[string]bool{}}
	if o != nil {
		im.limit = orNumber(o.MaxLine, defaultMaxLine)
	}
	for _, t := range knownTypes {
		im.types[t] = true
	}
	err := im.read(bufio.NewReaderSize(r, 64<<10))
	im.report.Loaded = len(im.entries)
	im.checkTree()
	return im.entries, im.report, err
}

type importer struct {
	limit   int
	entries []Entry
	lines   []int // of entries
	seen    map[string]bool
	types   map[string]bool
	report  ImportReport
}

func (im *importer) read(r *bufio.Reader) error {
	for n := 1; ; n++ {
		line, size, err := readLine(r, im.limit)
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		switch {
		case size > im.limit:
			im.report.Lines++
			im.report.add(n, TooLong, "%d bytes; the limit is %d", size, im.limit)
		case len(bytes.TrimSpace(line)) > 0:
			im.report.Lines++
			im.line(n, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("transcript line %d: %w", n, err)
		}
	}
}

// readLine reads a line without its end. Of one longer than limit it keeps nothing
// but its size.
func readLine(r *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		if size += len(part); size <= limit {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}

// line loads what is whole of a line.
func (im *importer) line(n int, line []byte) {
	if e, err := Parse(line); err == nil {
		im.entry(n, e)
		return
	}
	if bytes.IndexByte(line, 0) >= 0 {
		im.zeroed(n, line)
		return
	}
	im.torn(n, line)
}

// zeroed loads what stands between the zero bytes of a line.
func (im *importer) zeroed(n int, line []byte) {
	parts := bytes.FieldsFunc(line, func(r rune) bool { return r == 0 })
	im.report.add(n, Zeroed, "%d zero bytes", bytes.Count(line, []byte{0}))
	for _, part := range parts {
		if e, err := Parse(part); err == nil {
			im.entry(n, e)
		} else if len(bytes.TrimSpace(part)) > 0 {
			im.torn(n, part)
		}
	}
}

// torn loads the entries before and behind the torn place: a record without its
// end and the next one may be on one line.
func (im *importer) torn(n int, line []byte) {
	rest := line
	for i := 0; ; {
		lo := skipSpace(rest, i)
		hi := skipValue(rest, lo)
		if hi < 0 || !im.save(n, rest[lo:hi]) {
			rest = rest[lo:]
			break
		}
		i = hi
	}
	cut := len(rest)
	if tail := wholeTail(rest); tail != nil {
		im.save(n, tail)
		cut -= len(tail)
	}
	if cut == 0 {
		im.report.add(n, Torn, "two entries, both whole")
		return
	}
	im.report.add(n, Torn, "%d bytes are no entry: %s", cut, beginning(rest[:cut]))
}

// save loads text if it is an entry.
func (im *importer) save(n int, text []byte) bool {
	e, err := Parse(text)
	if err == nil {
		im.entry(n, e)
	}
	return err == nil
}

// starts are how a record begins in Claude Code's files and in ours.
var starts = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"type":`), []byte(`{"uuid":`), []byte(`{"isSidechain":`)}

// maxStarts bounds how often a torn line is looked through.
const maxStarts = 64

// wholeTail is the entry that a torn record is followed by, nil when there is
// none. A part of the torn record cannot be taken for one: it is followed by more.
func wholeTail(text []byte) []byte {
	for i, tries := 1, 0; i < len(text) && tries < maxStarts; i++ {
		p := bytes.Index(text[i:], []byte(`{"`))
		if p < 0 {
			return nil
		}
		i += p
		if !slices.ContainsFunc(starts, func(s []byte) bool { return bytes.HasPrefix(text[i:], s) }) {
			continue
		}
		tries++
		if json.Valid(text[i:]) {
			return text[i:]
		}
	}
	return nil
}

func beginning(text []byte) string {
	const enough = 60
	if len(text) > enough {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(string(text[:enough]), ""))
	}
	return fmt.Sprintf("%q", text)
}

func (im *importer) entry(n int, e Entry) {
	if e.UUID != "" && im.seen[e.UUID] {
		im.report.add(n, Duplicate, "uuid %s", e.UUID)
		return
	}
	im.seen[e.UUID] = true
	if !im.types[e.Type] {
		im.report.add(n, Unknown, "%.40q", e.Type)
	}
	if e.Flags.Has(NotUnicode) {
		im.report.add(n, BadText, "uuid %s", e.UUID)
	}
	im.entries = append(im.entries, e)
	im.lines = append(im.lines, n)
}

// checkTree reports parents that lead nowhere.
func (im *importer) checkTree() {
	parent := make(map[string]string, len(im.entries))
	for i := range im.entries {
		if e := &im.entries[i]; e.UUID != "" {
			parent[e.UUID] = e.Parent
		}
	}
	rooted := map[string]bool{"": true}
	for i := range im.entries {
		e := &im.entries[i]
		if _, known := parent[e.Parent]; e.Parent != "" && !known {
			im.report.add(im.lines[i], NoParent, "parent %s of %s", e.Parent, e.UUID)
		}
		if e.UUID != "" && inCycle(e.UUID, parent, rooted) {
			im.report.add(im.lines[i], Cycle, "at %s", e.UUID)
		}
	}
}

// inCycle follows parents from uuid. What it has been at is rooted afterwards, so
// that a cycle is found once and all of it takes linear time.
func inCycle(uuid string, parent map[string]string, rooted map[string]bool) bool {
	trail := map[string]bool{}
	at, known := uuid, true
	for known && !rooted[at] && !trail[at] {
		trail[at] = true
		at, known = parent[at]
	}
	cycle := trail[at]
	for t := range trail {
		rooted[t] = true
	}
	return cycle
}

// Export writes entries, as Store.Load gives them, in Claude Code's form: a line
// each, with exactly their bytes. Prefix entries are left out, and what hangs on
// one is attached to its parent. The error is that of entries or of w.
func Export(w io.Writer, entries iter.Seq2[Entry, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	r := relinker{gone: map[string]string{}}
	for e, err := range entries {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if isPrefix(&e) {
			if e.UUID != "" {
				r.gone[e.UUID] = e.Parent
			}
			continue
		}
		k := kept{Entry: &e, parent: e.Parent}
		if parent, ok := r.ancestor(e.Parent); ok {
			k.parent = parent
		}
		k.finish(&e)
		if err := writeLine(out, e.Raw); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeLine(out *bufio.Writer, raw []byte) error {
	if bytes.IndexByte(raw, '\n') >= 0 {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return fmt.Errorf("transcript entry: %w", err)
		}
		raw = line.Bytes()
	}
	if _, err := out.Write(raw); err != nil {
		return err
	}
	return out.WriteByte('\n')
}
