package plugin

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// matter is the front matter of a file: fields between two lines of three dashes.
type matter struct {
	l      *loader
	file   string
	fields map[string]*yaml.Node
	asked  map[string]bool
	bad    bool
}

// split parts the front matter from the text behind it. is is false where a file does
// not begin with one.
func (l *loader) split(file, text string) (m *matter, body string, is bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return nil, text, false
	}
	m = &matter{l: l, file: file, fields: map[string]*yaml.Node{}, asked: map[string]bool{}}
	var head strings.Builder
	for line := range strings.Lines(rest) {
		rest = rest[len(line):]
		if strings.TrimRight(line, " \t\n") == "---" {
			m.parse(head.String())
			return m, strings.TrimSpace(rest), true
		}
		head.WriteString(line)
	}
	m.wrong(1, "the front matter has no end: close it with a line of three dashes")
	return m, "", true
}

func (m *matter) wrong(line int, format string, args ...any) {
	m.bad = true
	m.l.wrong(m.file, line, format, args...)
}

// yamlLine is where the parser says that something is wrong.
var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?(?:line (\d+): )?`)

// parse reads the fields. Lines of the file are one more than those of the head.
func (m *matter) parse(head string) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(head), &doc); err != nil {
		text, line := err.Error(), 1
		if at := yamlLine.FindStringSubmatch(text); at != nil {
			text = text[len(at[0]):]
			if n, err := strconv.Atoi(at[1]); err == nil {
				line = n + 1
			}
		}
		m.wrong(line, "the front matter is no YAML (a text with a colon in it wants quotes): %s", text)
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	fields := doc.Content[0]
	if fields.Kind != yaml.MappingNode {
		m.wrong(fields.Line+1, "the front matter holds no fields")
		return
	}
	for i := 0; i+1 < len(fields.Content); i += 2 {
		key, value := fields.Content[i], fields.Content[i+1]
		if m.fields[key.Value] != nil {
			m.wrong(key.Line+1, "%s is there twice", key.Value)
		}
		m.fields[key.Value] = value
	}
}

func (m *matter) line(field string) int {
	if n := m.fields[field]; n != nil {
		return n.Line + 1
	}
	return 1
}

// text is a field that is one text; empty where it is not there.
func (m *matter) text(field string) string {
	m.asked[field] = true
	n := m.fields[field]
	switch {
	case n == nil || n.Tag == "!!null":
		return ""
	case n.Kind != yaml.ScalarNode:
		m.wrong(n.Line+1, "%s must be a text", field)
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// count is a field that is a whole number above nothing; 0 where it is not there.
func (m *matter) count(field string) int {
	text := m.text(field)
	n, err := strconv.Atoi(text)
	if text != "" && (err != nil || n <= 0) {
		m.wrong(m.line(field), "%s must be a whole number above 0", field)
	}
	return n
}

// list is a field that is a list of texts, or one text with commas; nil where it is
// not there.
func (m *matter) list(field string) []string {
	m.asked[field] = true
	n := m.fields[field]
	switch {
	case n == nil || n.Tag == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		return commas(n.Value)
	case n.Kind != yaml.SequenceNode:
		m.wrong(n.Line+1, "%s must be a list of texts", field)
		return nil
	}
	out := []string{}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			m.wrong(item.Line+1, "%s must be a list of texts", field)
			return nil
		}
		out = append(out, strings.TrimSpace(item.Value))
	}
	return out
}

// commas parts a text at the commas outside of parentheses: Bash(a, b) is one.
func commas(text string) []string {
	out, from, depth := []string{}, 0, 0
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
	return out
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// name is the field name, else what stands for it.
func (m *matter) name(fallback string) string {
	name := m.text("name")
	if name == "" {
		name = fallback
	}
	if !validName.MatchString(name) {
		m.wrong(m.line("name"), "name is %q; it has letters, digits, - _ and ., 64 at most", name)
	}
	return name
}

// description is the field description, on one line.
func (m *matter) description() string {
	text := strings.Join(strings.Fields(m.text("description")), " ")
	switch {
	case text == "" && !m.bad:
		m.wrong(m.line("description"), "description is missing: it says when to use this")
	case utf8.RuneCountInString(text) > MaxDescription:
		m.wrong(m.line("description"), "description has more than %d characters", MaxDescription)
	}
	return text
}

// rest notes fields that nobody asked for.
func (m *matter) rest(harmless ...string) {
	var left []string
	for field := range m.fields {
		if !m.asked[field] && !slices.Contains(harmless, field) {
			left = append(left, field)
		}
	}
	slices.Sort(left)
	if len(left) > 0 {
		m.l.note("%s: %s is not used", m.file, strings.Join(left, ", "))
	}
}

func (l *loader) agent(file, text string) (a Agent, ok bool) {
	m, body, is := l.split(file, text)
	if !is {
		l.note("%s has no front matter and is no agent", file)
		return a, false
	}
	a = Agent{Name: m.name(strings.TrimSuffix(path.Base(file), ".md")), Description: m.description(), Prompt: l.placed(body),
		Tools: m.list("tools"), Barred: m.list("disallowedTools"), Model: m.text("model"),
		Effort: m.text("effort"), MaxTurns: m.count("maxTurns"), Skills: m.list("skills"), File: file}
	if a.Model == "inherit" {
		a.Model = ""
	}
	if body == "" && !m.bad {
		m.wrong(0, "there is nothing behind the front matter: an agent has a prompt")
	}
	m.rest("color")
	return a, !m.bad
}

func (l *loader) skill(file, dir, text string) (s Skill, ok bool) {
	m, body, is := l.split(file, text)
	if !is {
		l.wrong(file, 1, "it has no front matter: begin with lines --- name: … description: … ---")
		return s, false
	}
	s = Skill{Name: m.name(dir), Description: m.description(), Text: l.placed(body), Dir: filepath.Join(l.p.Dir, skillsDir, dir)}
	if body == "" && !m.bad {
		m.wrong(0, "there is nothing behind the front matter: a skill says what to do")
	}
	m.rest("license", "version", "metadata", "compatibility")
	return s, !m.bad
}
