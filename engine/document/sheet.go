package document

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A sheet is what the documents have in common: fields in order, each of text
// or of items, under headings of their kind.

type sheet struct {
	kind   Kind
	step   string
	path   string
	fields []sheetField
}

type sheetField struct {
	field    Field
	text     string
	items    []string
	list     bool
	required bool
}

func (f sheetField) empty() bool { return f.text == "" && len(f.items) == 0 }

// The headings are made when a document is first read.
var (
	briefHeadings   = sync.OnceValue(func() *headings { return newHeadings(briefNames) })
	goalHeadings    = sync.OnceValue(func() *headings { return newHeadings(goalNames) })
	verdictHeadings = sync.OnceValue(func() *headings { return newHeadings(verdictNames) })
	handoffHeadings = sync.OnceValue(func() *headings { return newHeadings(handoffNames) })

	headingsOf = map[Kind]func() *headings{
		KindBrief: briefHeadings, KindGoal: goalHeadings, KindVerdict: verdictHeadings, KindHandoff: handoffHeadings,
	}
)

func (k Kind) headed(text string) bool {
	t := headingsOf[k]
	return t != nil && len(t().read(text).sections) > 0
}

func (f Field) heading(lang string) string {
	for _, rows := range [][]names{briefNames, goalNames, verdictNames, handoffNames} {
		for _, row := range rows {
			if row.field != f {
				continue
			}
			if language(lang) == Chinese {
				return row.zh[0]
			}
			return row.en[0]
		}
	}
	return ""
}

func (b Brief) sheet() sheet {
	return sheet{kind: KindBrief, path: b.path, fields: []sheetField{
		{field: FieldGoal, text: b.Goal, required: true},
		{field: FieldAccept, text: b.Accept, required: true},
		{field: FieldBounds, text: b.Bounds, required: true},
		{field: FieldUnknowns, text: b.Unknowns, required: true},
	}}
}

func (g Goal) sheet() sheet {
	return sheet{kind: KindGoal, path: g.path, fields: []sheetField{
		{field: FieldStatement, text: g.Statement, required: true},
		{field: FieldChecks, items: g.Checks, list: true, required: true},
	}}
}

func (v Verdict) sheet(lang string) sheet {
	return sheet{kind: KindVerdict, path: v.path, fields: []sheetField{
		{field: FieldState, text: in(lang).states[v.State], required: true},
		{field: FieldReason, text: v.Reason},
		{field: FieldFailed, items: v.Failed, list: true},
	}}
}

func (h Handoff) sheet() sheet {
	return sheet{kind: KindHandoff, path: h.path, step: h.Step, fields: []sheetField{
		{field: FieldDoing, text: h.Doing, required: true},
		{field: FieldDecided, text: h.Decided},
		{field: FieldDeadEnds, text: h.DeadEnds},
		{field: FieldNext, text: h.Next, required: true},
		{field: FieldScene, text: h.Scene},
	}}
}

func (s sheet) missing() []Field {
	var missing []Field
	for _, f := range s.fields {
		if f.required && f.empty() {
			missing = append(missing, f.field)
		}
	}
	return missing
}

func (s sheet) markdown(lang string) string {
	w := in(lang)
	return "# " + s.title(w) + "\n\n> " + w.notes[s.kind] + "\n" + s.sections(lang)
}

func (s sheet) promptBlock(lang string) string {
	w := in(lang)
	block := "# " + s.title(w) + "\n\n" + w.prompts[s.kind]
	if s.path != "" {
		block += " " + fmt.Sprintf(w.inFile, s.path)
	}
	return block + "\n" + s.sections(lang)
}

func (s sheet) title(w wording) string {
	if step := oneLine(s.step); step != "" {
		return w.titles[s.kind] + fmt.Sprintf(w.forStep, step)
	}
	return w.titles[s.kind]
}

// sections writes the fields below ## headings, or below # ones when a field
// brings ## headings of its own, which would end it otherwise.
func (s sheet) sections(lang string) string {
	t := headingsOf[s.kind]()
	level := 2
	for _, f := range s.fields {
		if t.hasSubheading(f.text, level) {
			level = 1
		}
	}
	var b strings.Builder
	for _, f := range s.fields {
		b.WriteString("\n" + strings.Repeat("#", level) + " " + f.field.Heading(lang) + "\n\n")
		b.WriteString(f.body(t, level, in(lang)) + "\n")
	}
	return b.String()
}

func (f sheetField) body(t *headings, level int, w wording) string {
	var lines []string
	for _, item := range f.items {
		if item = oneLine(item); item != "" {
			lines = append(lines, t.escapeItem(item))
		}
	}
	body := strings.Join(lines, "\n")
	if !f.list {
		body = t.escapeText(normalize(f.text), level)
	}
	switch {
	case body != "":
		return body
	case f.required:
		return w.notFilled
	}
	return w.none
}

// amend adds text behind what is there, as a paragraph of its own, once.
func amend(to, text string) string {
	text = normalize(text)
	switch {
	case text == "" || strings.Contains("\n\n"+to+"\n\n", "\n\n"+text+"\n\n"):
		return to
	case to == "":
		return text
	}
	return to + "\n\n" + text
}

func briefAddition(title, text string) string {
	title = oneLine(title)
	if h, ok := briefHeadings().scan("### " + title); ok && !h.foreign {
		title = "(" + title + ")"
	}
	return "\n### " + title + "\n\n" + briefHeadings().escapeText(normalize(text), 2) + "\n"
}

func (v Verdict) feedback(lang string) string {
	if v.State == Achieved {
		return ""
	}
	w := in(lang)
	parts := []string{w.feedback[v.State]}
	if v.Reason != "" {
		parts = append(parts, w.reason+v.Reason)
	}
	if len(v.Failed) > 0 {
		parts = append(parts, w.notPassed+"\n- "+strings.Join(v.Failed, "\n- "))
	}
	if len(parts) == 1 {
		parts = append(parts, w.noReason)
	}
	return strings.Join(append(parts, w.closeGaps), "\n\n")
}

// Bounds of a degraded handoff, in characters.
const (
	taskLimit = 1200
	whyLimit  = 300
)

func degradedHandoff(step, task, why, lang string) Handoff {
	w := in(lang)
	doing := fmt.Sprintf(w.degraded, oneLine(step), degradedMarks[language(lang)])
	if why = firstChars(oneLine(why), whyLimit); why != "" {
		doing += " " + fmt.Sprintf(w.because, why)
	}
	h := Handoff{Doing: normalize(doing), Next: w.degradedNext, Step: step}
	if task = normalize(firstChars(normalize(task), taskLimit)); task != "" {
		h.Scene = fmt.Sprintf(w.taskBegins, taskLimit) + "\n\n" + task
	}
	return h
}

// firstChars cuts s behind n characters.
func firstChars(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
