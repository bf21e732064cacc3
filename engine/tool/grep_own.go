package tool

// Our own search, for where there is no ripgrep. It finds what ripgrep with the
// options of rgArgs finds; the regular expressions are Go's.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// errFull ends a walk when the result has no more room.
var errFull = errors.New("full")

const (
	// lineBytes is how much of a line is searched.
	lineBytes = 1 << 20
	// multilineBytes is the largest file that is searched over line ends, since
	// it is held whole for that.
	multilineBytes = 32 << 20
)

func (s *Set) ownGrep(ctx context.Context, q search, hits *hitList) (note string, err error) {
	g, err := newGrepper(ctx, q, hits)
	if err != nil {
		return "", err
	}
	if q.file {
		err = g.search(q.root, "")
	} else {
		err = g.walk()
	}
	if errors.Is(err, errFull) {
		err = nil
	}
	if g.skipped > 0 {
		note = fmt.Sprintf("not complete: %s could not be searched", plural(g.skipped, "file or folder"))
	}
	return note, err
}

type grepper struct {
	ctx     context.Context // of this one search
	q       search
	re      *regexp.Regexp
	globs   []string // from the type
	hits    *hitList
	reader  *bufio.Reader // used for one file after the other
	skipped int
}

func newGrepper(ctx context.Context, q search, hits *hitList) (*grepper, error) {
	flags := ""
	if q.fold {
		flags += "i"
	}
	if q.multiline {
		flags += "ms"
	}
	pattern := q.pattern
	if flags != "" {
		pattern = "(?" + flags + ":" + pattern + ")"
	}
	// Compiled without the flags first: a diagnostic quotes what the model wrote.
	if _, err := regexp.Compile(q.pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	g := &grepper{ctx: ctx, q: q, re: re, hits: hits, reader: bufio.NewReaderSize(nil, 64<<10)}
	if q.kind != "" {
		var ok bool
		if g.globs, ok = fileTypes[q.kind]; !ok {
			return nil, fmt.Errorf("unrecognized file type: %s; give a glob instead", q.kind)
		}
	}
	if !doublestar.ValidatePattern(strings.TrimPrefix(q.glob, "!")) {
		return nil, fmt.Errorf("%q is not a glob: a bracket or brace may not be closed", q.glob)
	}
	return g, nil
}

func (g *grepper) walk() error {
	real, err := filepath.EvalSymlinks(g.q.root)
	if err != nil {
		return err
	}
	w := walk{root: real, depth: -1}
	w.visit = func(rel string, d fs.DirEntry, ignored bool) error {
		wanted, named := g.wants(rel)
		// A file that the glob names is searched also if git ignores it.
		if !wanted || ignored && !named || !d.Type().IsRegular() {
			return nil
		}
		return g.search(filepath.Join(real, rel), rel)
	}
	err = w.run(g.ctx)
	g.skipped += w.unreadable
	return err
}

// wants reports whether a file passes glob and type; named, whether a glob that
// is not a negation says so.
func (g *grepper) wants(rel string) (wanted, named bool) {
	base := path.Base(rel)
	if g.globs != nil && !slices.ContainsFunc(g.globs, func(p string) bool { return doublestar.MatchUnvalidated(p, base) }) {
		return false, false
	}
	if g.q.glob == "" {
		return true, false
	}
	pattern, not := strings.CutPrefix(g.q.glob, "!")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	match := doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "/"), rel)
	return match != not, match && !not
}

// search searches one file. A file that cannot be read is counted, not an error.
func (g *grepper) search(file, rel string) error {
	f, err := os.Open(file)
	if err != nil {
		g.skipped++
		return nil
	}
	defer f.Close()
	r := g.reader
	r.Reset(f)
	start, err := r.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		g.skipped++
		return nil
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil // binary
	}
	if g.q.multiline {
		return g.searchWhole(f, r, rel)
	}
	return g.searchLines(r, rel)
}

// searchLines goes through a file line by line.
func (g *grepper) searchLines(r *bufio.Reader, rel string) error {
	t := g.newTeller(rel)
	for number := 1; ; number++ {
		if number%1000 == 0 && g.ctx.Err() != nil {
			return g.ctx.Err()
		}
		line, err := readLine(r)
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			g.skipped++
			return t.end()
		}
		line = trimEnd(line)
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if err := t.line(number, line, g.re.Match(line)); err != nil {
			return err
		}
		if t.done {
			return t.end()
		}
	}
}

// readLine reads a line and drops what is over lineBytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, err
	}
	line := slices.Clone(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.ReadSlice('\n')
		if room := lineBytes - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
	}
	return line, err
}

// trimEnd drops the line end.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// searchWhole searches over line ends.
func (g *grepper) searchWhole(f *os.File, r io.Reader, rel string) error {
	if info, err := f.Stat(); err != nil || info.Size() > multilineBytes {
		g.skipped++
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(r, multilineBytes))
	if err != nil {
		g.skipped++
		return nil
	}
	places := g.re.FindAllIndex(content, -1)
	t := g.newTeller(rel)
	at := 0
	for number, next := 1, 0; at < len(content) && !t.done; number++ {
		end := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		// A line matches if it holds a part of a match.
		for next < len(places) && places[next][1] <= at && places[next][0] < at {
			next++
		}
		matches := next < len(places) && places[next][0] < end
		if err := t.line(number, trimEnd(content[at:end]), matches); err != nil {
			return err
		}
		at = end
	}
	return t.end()
}

// A teller turns the lines of one file into lines of the result.
type teller struct {
	g      *grepper
	rel    string
	before []numbered // the newest lines that were not shown
	after  int        // so many lines still to show
	last   int        // the last line that was shown
	count  int
	done   bool // nothing more has to be known of the file
}

type numbered struct {
	number int
	text   []byte
}

func (g *grepper) newTeller(rel string) *teller { return &teller{g: g, rel: rel} }

func (t *teller) line(number int, text []byte, matches bool) error {
	q := t.g.q
	switch {
	case matches:
		t.count++
		if q.mode != "content" {
			t.done = q.mode == "files_with_matches"
			return nil
		}
		return t.match(number, text)
	case q.mode != "content":
		return nil
	case t.after > 0:
		t.after--
		return t.show(number, '-', text)
	case q.before > 0:
		if len(t.before) == q.before {
			t.before = append(t.before[:0], t.before[1:]...)
		}
		t.before = append(t.before, numbered{number, slices.Clone(text)})
	}
	return nil
}

func (t *teller) match(number int, text []byte) error {
	q := t.g.q
	first := number
	if len(t.before) > 0 {
		first = t.before[0].number
	}
	// As ripgrep does: a line between groups that do not touch, also of two files.
	if q.before+q.after > 0 && t.g.hits.any() && (t.last == 0 || first > t.last+1) {
		if !t.g.hits.add("--") {
			return errFull
		}
	}
	for _, b := range t.before {
		if err := t.show(b.number, '-', b.text); err != nil {
			return err
		}
	}
	t.before = t.before[:0]
	t.after = q.after
	return t.show(number, ':', text)
}

func (t *teller) show(number int, sep byte, text []byte) error {
	t.last = number
	if len(text) > grepColumns {
		text = append(slices.Clone(text[:grepColumns-partial(text[:grepColumns])]), " [… the line goes on]"...)
	}
	q := t.g.q
	if !t.g.hits.line(q, q.absolute(t.rel), number, sep, string(text)) {
		return errFull
	}
	return nil
}

// end tells what is known of the file as a whole.
func (t *teller) end() error {
	q := t.g.q
	count := -1
	switch {
	case t.count == 0 || q.mode == "content":
		return nil
	case q.mode == "count":
		count = t.count
	}
	if !t.g.hits.file(q, t.rel, count) {
		return errFull
	}
	return nil
}

// any reports whether the result has a line yet, shown or passed over.
func (h *hitList) any() bool { return len(h.lines) > 0 || h.passed > 0 }

// fileTypes are the kinds of files that are asked for most, named as in ripgrep.
var fileTypes = map[string][]string{
	"c":          {"*.[chH]", "*.[chH].in", "*.cats"},
	"cpp":        {"*.[ChH]", "*.[ChH].in", "*.[ch]pp", "*.[ch]pp.in", "*.[ch]xx", "*.[ch]xx.in", "*.cc", "*.cc.in", "*.hh", "*.hh.in", "*.inl"},
	"css":        {"*.css", "*.scss"},
	"csharp":     {"*.cs"},
	"go":         {"*.go"},
	"html":       {"*.htm", "*.html", "*.ejs"},
	"java":       {"*.java", "*.jsp", "*.jspx", "*.properties"},
	"js":         {"*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"},
	"json":       {"*.json", "composer.lock"},
	"kotlin":     {"*.kt", "*.kts"},
	"lua":        {"*.lua"},
	"make":       {"[Gg][Nn][Uu]makefile", "[Gg][Nn][Uu]makefile.am", "[Gg][Nn][Uu]makefile.in", "[Mm]akefile", "[Mm]akefile.am", "[Mm]akefile.in", "*.mak", "*.mk"},
	"markdown":   {"*.markdown", "*.md", "*.mdown", "*.mkdn", "*.mkd", "*.mdwn", "*.mdx"},
	"md":         {"*.markdown", "*.md", "*.mdown", "*.mkdn", "*.mkd", "*.mdwn", "*.mdx"},
	"php":        {"*.php", "*.php3", "*.php4", "*.php5", "*.phtml"},
	"protobuf":   {"*.proto"},
	"py":         {"*.py", "*.pyi"},
	"python":     {"*.py", "*.pyi"},
	"ruby":       {"*.rb", "*.gemspec", ".irbrc", "Gemfile", "Rakefile", "config.ru"},
	"rust":       {"*.rs"},
	"sh":         {"*.bash", "*.sh", "*.zsh", "*.ksh", "*.csh", "*.tcsh", ".bashrc", ".zshrc", ".profile", ".bash_profile"},
	"sql":        {"*.sql", "*.psql"},
	"swift":      {"*.swift"},
	"toml":       {"*.toml", "Cargo.lock"},
	"ts":         {"*.ts", "*.tsx", "*.cts", "*.mts"},
	"typescript": {"*.ts", "*.tsx", "*.cts", "*.mts"},
	"txt":        {"*.txt"},
	"xml":        {"*.xml", "*.xml.dist", "*.dtd", "*.xsl", "*.xslt", "*.xsd", "*.xjb", "*.rng", "*.sch", "*.xhtml"},
	"yaml":       {"*.yaml", "*.yml"},
}
