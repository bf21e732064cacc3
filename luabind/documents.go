package luabind

import (
	"errors"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/internal/atomicfile"
)

// openDocuments adds flower.document. A document is a plain table: its fields, and
// kind, complete and missing, which say what parsing found.
func (s *state) openDocuments(flower *lua.LTable) {
	t := s.L.CreateTable(0, 13)
	for name, fn := range map[string]lua.LGFunction{
		"parse": s.docParse, "load": s.docLoad, "write": s.docWrite, "markdown": s.docMarkdown, "block": s.docBlock,
		"feedback": s.docFeedback, "amend": s.docAmend, "addition": s.docAddition, "file_name": s.docFileName, "find": s.docFind,
		"headed": s.docHeaded, "text": s.docText, "append": s.docAppend, "save": s.docSave,
	} {
		t.RawSetString(name, s.L.NewFunction(fn))
	}
	module := s.readOnly("flower.document", t)
	flower.RawSetString("document", module)
	s.loaded["flower.document"] = module
}

// paper is what all documents can do.
type paper interface {
	Complete() bool
	Markdown(lang string) string
	PromptBlock(lang string) string
	Missing() []document.Field
}

// docParse is flower.document.parse(kind, text).
func (s *state) docParse(L *lua.LState) int {
	text := L.CheckString(2)
	switch kind := s.docKind(L); kind {
	case document.KindBrief:
		L.Push(s.docTable(kind, document.ParseBrief(text)))
	case document.KindGoal:
		L.Push(s.docTable(kind, document.ParseGoal(text)))
	case document.KindVerdict:
		L.Push(s.docTable(kind, document.ParseVerdict(text)))
	default:
		L.Push(s.docTable(kind, document.ParseHandoff(text, L.OptString(3, ""))))
	}
	return 1
}

func (s *state) docKind(L *lua.LState) document.Kind {
	kind := document.Kind(L.CheckString(1))
	switch kind {
	case document.KindBrief, document.KindGoal, document.KindVerdict, document.KindHandoff:
		return kind
	}
	s.misuse(L, "%q is no kind of document; there are brief, goal, verdict and handoff", kind)
	return ""
}

// docLoad is flower.document.load(kind, path): nil and a text when it is not there.
func (s *state) docLoad(L *lua.LState) int {
	path := s.place(L, 2, "flower.document.load")
	var doc paper
	var err error
	kind := s.docKind(L)
	switch kind {
	case document.KindBrief:
		doc, err = document.LoadBrief(path)
	case document.KindGoal:
		doc, err = document.LoadGoal(path)
	case document.KindVerdict:
		doc, err = document.LoadVerdict(path)
	default:
		doc, err = document.LoadHandoff(path, L.OptString(3, ""))
	}
	if err != nil {
		return pushResult(L, lua.LNil, err)
	}
	L.Push(s.docTable(kind, doc))
	return 1
}

// docTable is a document as a script sees it.
func (s *state) docTable(kind document.Kind, doc paper) *lua.LTable {
	t := s.L.NewTable()
	set := func(name string, v any) { t.RawSetString(name, s.toLua(v)) }
	switch d := doc.(type) {
	case document.Brief:
		set("goal", d.Goal)
		set("accept", d.Accept)
		set("bounds", d.Bounds)
		set("unknowns", d.Unknowns)
	case document.Goal:
		set("statement", d.Statement)
		set("checks", d.Checks)
		set("unverifiable", d.Unverifiable())
	case document.Verdict:
		set("state", string(d.State))
		set("reason", d.Reason)
		set("failed", d.Failed)
	case document.Handoff:
		set("doing", d.Doing)
		set("decided", d.Decided)
		set("deadends", d.DeadEnds)
		set("next", d.Next)
		set("scene", d.Scene)
		set("step", d.Step)
		set("degraded", d.Degraded())
	}
	missing := []string{}
	for _, field := range doc.Missing() {
		missing = append(missing, field.Heading(s.rt.Lang()))
	}
	set("kind", string(kind))
	set("complete", doc.Complete())
	set("missing", missing)
	return t
}

// fromDoc makes a document of a table.
func (s *state) fromDoc(L *lua.LState, at int) paper {
	t, ok := L.Get(at).(*lua.LTable)
	if !ok {
		s.misuse(L, "argument %d must be a document, is a %s", at, s.describe(L.Get(at)))
	}
	text := func(name string) string { return lua.LVAsString(t.RawGetString(name)) }
	texts := func(name string) (out []string) {
		if list, ok := t.RawGetString(name).(*lua.LTable); ok {
			list.ForEach(func(_, v lua.LValue) { out = append(out, lua.LVAsString(v)) })
		}
		return out
	}
	switch kind := text("kind"); document.Kind(kind) {
	case document.KindBrief:
		return document.Brief{Goal: text("goal"), Accept: text("accept"), Bounds: text("bounds"), Unknowns: text("unknowns")}
	case document.KindGoal:
		return document.Goal{Statement: text("statement"), Checks: texts("checks")}
	case document.KindVerdict:
		return document.Verdict{State: document.State(text("state")), Reason: text("reason"), Failed: texts("failed")}
	case document.KindHandoff:
		return document.Handoff{Doing: text("doing"), Decided: text("decided"), DeadEnds: text("deadends"), Next: text("next"),
			Scene: text("scene"), Step: text("step")}
	default:
		s.misuse(L, "the table's kind is %q; a document has brief, goal, verdict or handoff", kind)
		return nil
	}
}

// docWrite is flower.document.write(doc, path): replaces the file whole.
func (s *state) docWrite(L *lua.LState) int {
	doc, path := s.fromDoc(L, 1), s.place(L, 2, "flower.document.write")
	lang := s.rt.Lang()
	var err error
	switch d := doc.(type) {
	case document.Brief:
		err = d.Write(path, lang)
	case document.Goal:
		err = d.Write(path, lang)
	case document.Verdict:
		err = d.Write(path, lang)
	case document.Handoff:
		err = d.Write(path, lang)
	}
	return pushResult(L, lua.LTrue, err)
}

func (s *state) docMarkdown(L *lua.LState) int {
	L.Push(lua.LString(s.fromDoc(L, 1).Markdown(s.rt.Lang())))
	return 1
}

// docBlock is flower.document.block(doc): the document as a prompt holds it.
func (s *state) docBlock(L *lua.LState) int {
	L.Push(lua.LString(s.fromDoc(L, 1).PromptBlock(s.rt.Lang())))
	return 1
}

// docFeedback is flower.document.feedback(verdict): what to send back, "" when
// there is nothing.
func (s *state) docFeedback(L *lua.LState) int {
	v, ok := s.fromDoc(L, 1).(document.Verdict)
	if !ok {
		s.misuse(L, "flower.document.feedback takes a verdict")
	}
	L.Push(lua.LString(v.Feedback(s.rt.Lang())))
	return 1
}

// docAmend is flower.document.amend(goal, text): the goal with more behind its
// statement.
func (s *state) docAmend(L *lua.LState) int {
	g, ok := s.fromDoc(L, 1).(document.Goal)
	if !ok {
		s.misuse(L, "flower.document.amend takes a goal")
	}
	g.Amend(L.CheckString(2))
	L.Push(s.docTable(document.KindGoal, g))
	return 1
}

// docAddition is flower.document.addition(title, text): a text that, appended to
// the file of a brief, is part of the brief.
func (s *state) docAddition(L *lua.LState) int {
	L.Push(lua.LString(document.BriefAddition(L.CheckString(1), L.CheckString(2))))
	return 1
}

// docFileName is flower.document.file_name(kind [, step]).
func (s *state) docFileName(L *lua.LState) int {
	L.Push(lua.LString(document.FileName(s.docKind(L), s.rt.Lang(), L.OptString(2, ""))))
	return 1
}

// docFind is flower.document.find(kind, dir [, step]): the path of the document in
// a folder, also under the other language's name; nil and a text when none is there.
func (s *state) docFind(L *lua.LState) int {
	kind, dir := s.docKind(L), s.place(L, 2, "flower.document.find")
	path := document.FindFile(dir, kind, s.rt.Lang(), L.OptString(3, ""))
	if info, err := os.Stat(path); path == "" || err != nil || !info.Mode().IsRegular() {
		return pushResult(L, lua.LNil, fmt.Errorf("there is no %s in %s", kind, dir))
	}
	L.Push(lua.LString(path))
	return 1
}

// docHeaded is flower.document.headed(kind, text): the text has one of the
// document's headings.
func (s *state) docHeaded(L *lua.LState) int {
	L.Push(lua.LBool(s.docKind(L).Headed(L.CheckString(2))))
	return 1
}

// docText is flower.document.text(path): the file as it is.
func (s *state) docText(L *lua.LState) int {
	path := s.place(L, 1, "flower.document.text")
	raw, err := readRegular(os.OpenFile(path, os.O_RDONLY|openFlag, 0))
	if err != nil {
		return pushResult(L, lua.LNil, cause(err))
	}
	return pushResult(L, lua.LString(raw), nil)
}

// docAppend is flower.document.append(path, text): adds to a file, synced.
func (s *state) docAppend(L *lua.LState) int {
	path, text := s.place(L, 1, "flower.document.append"), L.CheckString(2)
	f, _, err := regular(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|openFlag, 0o644))
	if err != nil {
		return pushResult(L, lua.LNil, cause(err))
	}
	return pushResult(L, lua.LTrue, errors.Join(atomicfile.AppendTo(f, []byte(text)), f.Close()))
}

// docSave is flower.document.save(path, text): replaces a file whole.
func (s *state) docSave(L *lua.LState) int {
	path := s.place(L, 1, "flower.document.save")
	return pushResult(L, lua.LTrue, atomicfile.Write(path, []byte(L.CheckString(2)), 0o644))
}
