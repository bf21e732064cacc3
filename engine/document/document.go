// Package document reads and writes the four documents that decide where a run
// goes: what was asked for (Brief), what the work is judged by (Goal), how a
// round was judged (Verdict), and what one session leaves to the next
// (Handoff).
//
// The text comes from a model or a person, so reading is forgiving: headings
// are found in English, Chinese, Spanish and German, with whatever marks they
// are decorated, and fenced blocks are taken out. It is strict where it
// matters: a verdict that fails, or holds only in part, or says two things is
// never achieved. What is written is English or Chinese and reads back as the
// same document.
//
//	v := document.ParseVerdict(reply)
//	if v.State == document.Achieved {
//		return nil
//	}
//	prompt = v.Feedback(document.English)
//
// Parse functions never fail: what is not there stays empty, and Missing names
// it. They take time linear in the text. Fields are kept without surrounding
// blanks, with single empty lines between paragraphs; list items are one line
// each. A document remembers the file it came from or went to; Equal ignores
// that. Documents are plain values: copy them freely, and do not change one
// from two goroutines.
package document

import "slices"

// Kind names a kind of document.
type Kind string

// The kinds of documents. The question log is no document of this package, but
// lies beside them and follows the same language.
const (
	KindBrief     Kind = "brief"
	KindGoal      Kind = "goal"
	KindVerdict   Kind = "verdict"
	KindHandoff   Kind = "handoff"
	KindQuestions Kind = "questions"
)

// Headed tells whether text holds a heading of this kind of document.
func (k Kind) Headed(text string) bool { return k.headed(text) }

// Field names a field of a document.
type Field string

// The fields of the documents.
const (
	FieldGoal     Field = "goal"
	FieldAccept   Field = "accept"
	FieldBounds   Field = "bounds"
	FieldUnknowns Field = "unknowns"

	FieldStatement Field = "statement"
	FieldChecks    Field = "checks"

	FieldState  Field = "state"
	FieldReason Field = "reason"
	FieldFailed Field = "failed"

	FieldDoing    Field = "doing"
	FieldDecided  Field = "decided"
	FieldDeadEnds Field = "deadends"
	FieldNext     Field = "next"
	FieldScene    Field = "scene"
)

// Heading returns the heading that the field is written under in a language.
func (f Field) Heading(lang string) string { return f.heading(lang) }

// Brief is what was agreed with the person who asked. All fields are required.
type Brief struct {
	Goal     string // what is wanted
	Accept   string // how one sees that it is done
	Bounds   string // how it is done, and what is not
	Unknowns string // what is not known and what is assumed instead

	path string
}

// ParseBrief reads a brief from a reply or file.
func ParseBrief(text string) Brief {
	r := briefHeadings().read(text)
	return Brief{
		Goal:     r.text(FieldGoal),
		Accept:   r.text(FieldAccept),
		Bounds:   r.text(FieldBounds),
		Unknowns: r.text(FieldUnknowns),
	}
}

// LoadBrief reads the brief in a file. The error wraps fs.ErrNotExist when
// there is none.
func LoadBrief(path string) (Brief, error) {
	text, err := load(KindBrief, path)
	b := ParseBrief(text)
	b.path = path
	return b, err
}

// Missing names the required fields that are empty.
func (b Brief) Missing() []Field { return b.sheet().missing() }

// Complete tells whether no required field is empty.
func (b Brief) Complete() bool { return len(b.Missing()) == 0 }

// Markdown is the brief as a file. Parsing it gives the same brief.
func (b Brief) Markdown(lang string) string { return b.sheet().markdown(lang) }

// PromptBlock is the brief as a part of a prompt.
func (b Brief) PromptBlock(lang string) string { return b.sheet().promptBlock(lang) }

// Write replaces the file at path, or the one remembered when path is empty,
// as a whole, and remembers it.
func (b *Brief) Write(path, lang string) error { return b.sheet().write(path, lang, &b.path) }

// Path is the file that the brief came from or went to, or "".
func (b Brief) Path() string { return b.path }

// Equal tells whether two briefs say the same.
func (b Brief) Equal(other Brief) bool {
	b.path, other.path = "", ""
	return b == other
}

// Goal is what the work is judged by: one statement, and checks of the form
// "run this, see that". Both are required.
type Goal struct {
	Statement string
	Checks    []string // one line each, without list markers

	path string
}

// ParseGoal reads a goal from a reply or file.
func ParseGoal(text string) Goal {
	r := goalHeadings().read(text)
	return Goal{Statement: r.text(FieldStatement), Checks: r.items(FieldChecks, placeholderSet)}
}

// LoadGoal reads the goal in a file. The error wraps fs.ErrNotExist when there
// is none.
func LoadGoal(path string) (Goal, error) {
	text, err := load(KindGoal, path)
	g := ParseGoal(text)
	g.path = path
	return g, err
}

// Unverifiable returns the checks that carry the mark of what cannot be
// verified where it is judged: "[cannot verify here: no device]".
func (g Goal) Unverifiable() []string {
	var found []string
	for _, check := range g.Checks {
		if marked(check, unverifiableMarks) {
			found = append(found, check)
		}
	}
	return found
}

// Amend adds a person's words behind the statement; nothing is replaced. Words
// that are already there as a paragraph of their own are not added again. The
// file is not written.
func (g *Goal) Amend(text string) { g.Statement = amend(g.Statement, text) }

// Missing names the required fields that are empty.
func (g Goal) Missing() []Field { return g.sheet().missing() }

// Complete tells whether no required field is empty.
func (g Goal) Complete() bool { return len(g.Missing()) == 0 }

// Markdown is the goal as a file. Parsing it gives the same goal.
func (g Goal) Markdown(lang string) string { return g.sheet().markdown(lang) }

// PromptBlock is the goal as a part of a prompt.
func (g Goal) PromptBlock(lang string) string { return g.sheet().promptBlock(lang) }

// Write replaces the file at path, or the one remembered when path is empty,
// as a whole, and remembers it.
func (g *Goal) Write(path, lang string) error { return g.sheet().write(path, lang, &g.path) }

// Path is the file that the goal came from or went to, or "".
func (g Goal) Path() string { return g.path }

// Equal tells whether two goals say the same.
func (g Goal) Equal(other Goal) bool {
	return g.Statement == other.Statement && slices.Equal(g.Checks, other.Checks)
}

// State is what a verdict says of the goal. The zero State is none: the text
// did not say, or said two things.
type State string

// The states of a verdict.
const (
	Achieved    State = "achieved"
	NotYet      State = "not_yet"
	Unreachable State = "unreachable" // it cannot be reached, or not be verified here
)

// Verdict is how one round was judged. Only the state is required.
type Verdict struct {
	State  State
	Reason string
	Failed []string // the checks that were not passed, one line each

	path string
}

// ParseVerdict reads a verdict from a reply or file. The state comes from the
// conclusion, or from the whole of a reply of one line without a conclusion.
func ParseVerdict(text string) Verdict {
	r := verdictHeadings().read(text)
	return Verdict{State: r.verdict(), Reason: r.text(FieldReason), Failed: r.items(FieldFailed, noneSet)}
}

// LoadVerdict reads the verdict in a file. The error wraps fs.ErrNotExist when
// there is none.
func LoadVerdict(path string) (Verdict, error) {
	text, err := load(KindVerdict, path)
	v := ParseVerdict(text)
	v.path = path
	return v, err
}

// OK tells whether a state was recognised. A verdict that is not OK is never
// to be taken as achieved.
func (v Verdict) OK() bool { return v.State != "" }

// Feedback is what the one who did the work is told: what is missing, and to
// close these gaps only. It is empty for an achieved goal.
func (v Verdict) Feedback(lang string) string { return v.feedback(lang) }

// Missing names the required fields that are empty.
func (v Verdict) Missing() []Field { return v.sheet(English).missing() }

// Complete tells whether no required field is empty.
func (v Verdict) Complete() bool { return len(v.Missing()) == 0 }

// Markdown is the verdict as a file. Parsing it gives the same verdict.
func (v Verdict) Markdown(lang string) string { return v.sheet(lang).markdown(lang) }

// PromptBlock is the verdict as a part of a prompt.
func (v Verdict) PromptBlock(lang string) string { return v.sheet(lang).promptBlock(lang) }

// Write replaces the file at path, or the one remembered when path is empty,
// as a whole, and remembers it.
func (v *Verdict) Write(path, lang string) error { return v.sheet(lang).write(path, lang, &v.path) }

// Path is the file that the verdict came from or went to, or "".
func (v Verdict) Path() string { return v.path }

// Equal tells whether two verdicts say the same.
func (v Verdict) Equal(other Verdict) bool {
	return v.State == other.State && v.Reason == other.Reason && slices.Equal(v.Failed, other.Failed)
}

// Handoff is what a session whose context is full leaves to the one that takes
// over. Doing and Next are required.
type Handoff struct {
	Doing    string // what is being done
	Decided  string // what was decided, and why
	DeadEnds string // what was tried and does not work
	Next     string // the next step
	Scene    string // where things are
	Step     string // the step it belongs to, for the header

	path string
}

// ParseHandoff reads the handoff of a step from a reply or file.
func ParseHandoff(text, step string) Handoff {
	r := handoffHeadings().read(text)
	return Handoff{
		Doing:    r.text(FieldDoing),
		Decided:  r.text(FieldDecided),
		DeadEnds: r.text(FieldDeadEnds),
		Next:     r.text(FieldNext),
		Scene:    r.text(FieldScene),
		Step:     step,
	}
}

// DegradedHandoff puts together a handoff when the model wrote none: it says so
// and why (which may be ""), and holds the first 1200 characters of the task.
// It is complete.
func DegradedHandoff(step, task, why, lang string) Handoff {
	return degradedHandoff(step, task, why, lang)
}

// LoadHandoff reads the handoff of a step in a file. The error wraps
// fs.ErrNotExist when there is none.
func LoadHandoff(path, step string) (Handoff, error) {
	text, err := load(KindHandoff, path)
	h := ParseHandoff(text, step)
	h.path = path
	return h, err
}

// Degraded tells whether the handoff was put together without the model.
func (h Handoff) Degraded() bool { return isDegraded(h.Doing) }

// Missing names the required fields that are empty.
func (h Handoff) Missing() []Field { return h.sheet().missing() }

// Complete tells whether no required field is empty.
func (h Handoff) Complete() bool { return len(h.Missing()) == 0 }

// Markdown is the handoff as a file. Parsing it gives the same handoff.
func (h Handoff) Markdown(lang string) string { return h.sheet().markdown(lang) }

// PromptBlock is the prompt of the session that takes over.
func (h Handoff) PromptBlock(lang string) string { return h.sheet().promptBlock(lang) }

// Write replaces the file at path, or the one remembered when path is empty,
// as a whole, and remembers it.
func (h *Handoff) Write(path, lang string) error { return h.sheet().write(path, lang, &h.path) }

// Path is the file that the handoff came from or went to, or "".
func (h Handoff) Path() string { return h.path }

// Equal tells whether two handoffs say the same.
func (h Handoff) Equal(other Handoff) bool {
	h.path, other.path = "", ""
	return h == other
}

// FileName is the name of a document's file in a language, "" for kinds that
// are kept in none. Only handoffs have one for each step; what cannot stand in
// a file name is replaced in it.
func FileName(kind Kind, lang, step string) string { return fileName(kind, lang, step) }

// FindFile returns the path of a document in a folder: where it exists, in the
// given language first, else where it is to be written.
func FindFile(dir string, kind Kind, lang, step string) string {
	return findFile(dir, kind, lang, step)
}

// BriefAddition is text to append to the file of a brief, under a heading of
// its own. Loaded again it is part of the brief's last field, whatever it says.
func BriefAddition(title, text string) string { return briefAddition(title, text) }
