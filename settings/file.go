package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"github.com/flowerlua/flower/internal/spell"
)

// maxFile bounds a settings file, in bytes.
const maxFile = 1 << 20

// entry is one name of a settings file, as it is written there.
type entry struct {
	name, text string
	line       int
}

// fileSource reads a file. Its problem names the line and never shows what stands
// there, which may be a secret.
func fileSource(path string, parse func([]byte) ([]entry, error)) Source {
	src := Source{Name: path, values: map[string]string{}, lines: map[string]int{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return src
	}
	src.Found = true
	switch {
	case err != nil:
		src.Problem = err
	case !info.Mode().IsRegular():
		src.Problem = fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		src.Problem = fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), maxFile)
	}
	if src.Problem != nil {
		return src
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		src.Problem = err
		return src
	}
	entries, err := parse(bytes.TrimPrefix(raw, []byte("\ufeff")))
	if err != nil {
		src.Problem = fmt.Errorf("%s%w", path, err)
		return src
	}
	for _, e := range entries {
		if !slices.Contains(Keys, e.name) {
			src.misspelt(e.name, e.line)
			continue
		}
		src.values[e.name], src.lines[e.name] = strings.TrimSpace(e.text), e.line
	}
	return src
}

// misspelt notes a name that nearly is a key.
func (s *Source) misspelt(name string, line int) {
	if slices.Contains(Keys, name) {
		return
	}
	if key, ok := spell.Near(name, Keys); ok {
		s.Misspelt = append(s.Misspelt, Misspelt{Name: name, Key: key, Line: line})
	}
}

// String says what is wrong with the name.
func (m Misspelt) String() string {
	where := ""
	if m.Line > 0 {
		where = fmt.Sprintf("line %d: ", m.Line)
	}
	return fmt.Sprintf("%s%s is not read — did you mean %s?", where, m.Name, m.Key)
}

func environNames() []string {
	all := os.Environ()
	for i, text := range all {
		all[i], _, _ = strings.Cut(text, "=")
	}
	return all
}

// assignment is the beginning of a line of a .env file that gives a name a value.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*[=:]\s*(.*)$`)

func envFile(path string) Source { return fileSource(path, parseEnv) }

// parseEnv reads a .env file. What its parser says of a broken one may quote a
// secret, so the line is found here.
func parseEnv(raw []byte) ([]entry, error) {
	values, err := godotenv.UnmarshalBytes(raw)
	if err != nil {
		return nil, brokenLine(string(raw))
	}
	var all []entry
	for i, line := range strings.Split(string(raw), "\n") {
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		// What looks like a line of its own may stand inside quotes.
		if text, ok := values[m[1]]; ok {
			all = append(all, entry{m[1], text, i + 1})
		}
	}
	return all, nil
}

// brokenLine finds the line of a .env file that cannot be read.
func brokenLine(text string) error {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf(", line %d cannot be parsed: it is not NAME=VALUE", i+1)
		}
		end, closed := quotedEnd(m[2], lines[i+1:])
		if !closed {
			return fmt.Errorf(", line %d cannot be parsed: the value of %s begins with a quote that nothing closes", i+1, m[1])
		}
		if _, err := godotenv.Unmarshal(strings.Join(lines[i:i+end+1], "\n")); err != nil {
			return fmt.Errorf(", line %d cannot be parsed: the value of %s", i+1, m[1])
		}
		i += end
	}
	return errors.New(" cannot be parsed")
}

// quotedEnd is how many further lines a value takes, which may stand in quotes.
func quotedEnd(value string, further []string) (lines int, closed bool) {
	if value == "" || value[0] != '\'' && value[0] != '"' {
		return 0, true
	}
	mark, rest := value[0], value[1:]
	for n := 0; ; n++ {
		for i := 0; i < len(rest); i++ {
			if rest[i] == mark && (i == 0 || rest[i-1] != '\\') {
				return n, true
			}
		}
		if n == len(further) {
			return 0, false
		}
		rest = further[n]
	}
}

func claudeFile(path string) Source { return fileSource(path, parseClaude) }

// parseClaude reads the env block of a settings file of Claude Code.
func parseClaude(raw []byte) ([]entry, error) {
	var file struct {
		Env map[string]json.RawMessage `json:"env"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, brokenJSON(raw, err)
	}
	var all []entry
	for name, value := range file.Env {
		e := entry{name: name, line: lineOf(raw, name)}
		if err := json.Unmarshal(value, &e.text); err != nil {
			if !slices.Contains(Keys, name) {
				continue // not ours to judge
			}
			if e.text = string(value); strings.ContainsAny(e.text[:1], "[{") {
				return nil, fmt.Errorf(", line %d cannot be parsed: env.%s must be a string", e.line, name)
			}
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// brokenJSON names the line of what is no JSON, or of the wrong kind.
func brokenJSON(raw []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at, what := int64(len(raw)), "it is no JSON"
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at, what = kind.Offset, "env must be an object"
	}
	return fmt.Errorf(", line %d cannot be parsed: %s", 1+bytes.Count(raw[:min(at, int64(len(raw)))], []byte("\n")), what)
}

// lineOf is the line on which a name stands in quotes; 0 where it is written
// otherwise.
func lineOf(raw []byte, name string) int {
	at := bytes.Index(raw, []byte(`"`+name+`"`))
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(raw[:at], []byte("\n"))
}
