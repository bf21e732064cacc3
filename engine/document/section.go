package document

import (
	"slices"
	"strings"
)

// section is one stretch of a reply under a heading of the document.
type section struct {
	heading  heading
	body     []string
	content  bool // anything but empty lines
	numbered bool // an item with a number
	text     string
}

// fieldText is the section as the text of a field; a placeholder is no text.
func (s *section) fieldText() string {
	text := joinBody(s.body)
	switch {
	case s.heading.text == "":
	case text == "":
		text = s.heading.text
	default:
		text = s.heading.text + "\n\n" + text
	}
	if isPlaceholder(text, placeholderSet) {
		return ""
	}
	return text
}

// spoken is the section as it is read for a verdict: text on the heading's line
// goes on in the next, as a sentence may.
func (s *section) spoken() string {
	if s.heading.text == "" {
		return s.text
	}
	return s.heading.text + "\n" + strings.Join(s.body, "\n")
}

// splitter cuts clean lines into sections.
type splitter struct {
	headings *headings
	sections []section
	texts    []string // the bodies of all sections, one behind the other
	open     bool     // the last section takes further lines
	foreign  bool     // a foreign heading was seen, a title aside
	mixed    bool     // the headings so far are of different weights
}

func (t *headings) split(lines []string) []section {
	sp := splitter{headings: t, texts: make([]string, 0, len(lines))}
	for _, line := range lines {
		sp.add(line)
	}
	for i := range sp.sections {
		sp.sections[i].text = sp.sections[i].fieldText()
	}
	return sp.sections
}

func (sp *splitter) add(line string) {
	if literal, ok := sp.headings.unescape(line); ok {
		sp.addText(literal)
		return
	}
	h, ok := sp.headings.scan(line)
	switch {
	case !ok:
		sp.addText(line)
	case h.foreign:
		sp.addForeign(h, line)
	case sp.accepts(h):
		sp.mixed = sp.mixed || len(sp.sections) > 0 && sp.last().heading.weight != h.weight
		sp.sections = append(sp.sections, section{heading: h, content: h.text != ""})
		sp.open = true
	default:
		sp.addText(line)
	}
}

func (sp *splitter) last() *section { return &sp.sections[len(sp.sections)-1] }

func (sp *splitter) addText(line string) {
	if !sp.open {
		return
	}
	s := sp.last()
	if isUnderline(line) && len(s.body) == 0 && s.heading.alone && s.heading.level == 0 {
		return
	}
	sp.texts = append(sp.texts, line)
	s.body = sp.texts[len(sp.texts)-len(s.body)-1:]
	s.content = s.content || line != ""
	s.numbered = s.numbered || startsNumbered(line)
}

// addForeign ends the open section, unless the heading is a deeper one: then
// it is text.
func (sp *splitter) addForeign(h heading, line string) {
	title := h.level == 1 && len(sp.sections) == 0
	sp.foreign = sp.foreign || !title
	if !sp.open {
		return
	}
	if level := sp.last().heading.level; level > 0 && h.level > level {
		sp.addText(line)
		return
	}
	sp.open = false
}

// accepts decides whether a line that reads like a heading is one here.
func (sp *splitter) accepts(h heading) bool {
	if sp.open && h.alias.field == FieldFailed && sp.isConclusion(h) {
		return false
	}
	if h.weight != dashed && h.weight != numbered {
		return true
	}
	if len(sp.sections) == 0 {
		return !sp.foreign
	}
	last := sp.last()
	if sp.sameKind(h) {
		return true
	}
	// "3. Boundaries" as the third heading, after headings of other kinds: it
	// counts the sections, and no list before it counts its items.
	return h.weight == numbered && h.alone && h.number == len(sp.sections)+1 && !last.numbered
}

// sameKind tells whether all headings before h are list items like it. Deeper
// ones, and numbers that start again, belong to a list inside a section.
func (sp *splitter) sameKind(h heading) bool {
	last := sp.last().heading
	return !sp.foreign && !sp.mixed && last.weight == h.weight && h.indent <= last.indent &&
		(h.weight == dashed || h.number >= last.number)
}

// isConclusion tells "Failed" as the first content of a conclusion: bare or
// bold it is the verdict and opens no list of what failed.
func (sp *splitter) isConclusion(h heading) bool {
	last := sp.last()
	return last.heading.alias.field == FieldState && !last.content && h.alone && h.level == 0 &&
		(h.weight == plain || h.weight == strong)
}

// isUnderline tells the line of = below a heading; one of - is a rule line.
func isUnderline(line string) bool {
	return len(line) >= 3 && strings.Trim(line, "=") == ""
}

// reply is what a document found in a text, by field.
type reply struct {
	source   source
	sections []section
}

func (t *headings) read(text string) reply {
	src := clean(text)
	return reply{source: src, sections: t.split(src.lines)}
}

// chosen returns the sections that count for a field: of each alias the first
// with content, in order. The others of the same aliases are returned apart.
func (r reply) chosen(field Field) (chosen, repeated []*section) {
	for i := range r.sections {
		s := &r.sections[i]
		if s.heading.alias.field != field || s.text == "" {
			continue
		}
		again := slices.ContainsFunc(chosen, func(c *section) bool { return c.heading.alias.name == s.heading.alias.name })
		if again {
			repeated = append(repeated, s)
			continue
		}
		chosen = append(chosen, s)
	}
	return chosen, repeated
}

// text joins the sections of a text field.
func (r reply) text(field Field) string {
	chosen, _ := r.chosen(field)
	if len(chosen) == 1 {
		return chosen[0].text
	}
	texts := make([]string, len(chosen))
	for i, s := range chosen {
		texts[i] = s.text
	}
	return strings.Join(texts, "\n\n")
}

// items returns the items of all sections of a list field.
func (r reply) items(field Field, none map[string]bool) []string {
	var items []string
	chosen, _ := r.chosen(field)
	for _, s := range chosen {
		items = append(items, parseItems(s.text, none)...)
	}
	return items
}
