package luabind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/workbench"
)

// Report is what CheckFile found.
type Report struct {
	// Mistakes are what cannot work, by file and line.
	Mistakes []Mistake
	// Warnings are what works and is hardly meant: globals that a script assigns,
	// callbacks whose end may be reached without a value, different steps of one name.
	Warnings []Mistake
	// Unchecked says, place by place, what could not be looked at; empty: all was.
	Unchecked []string
	// Rehearsal: the script returns a function, so it was looked at as one that plays
	// the model.
	Rehearsal bool
}

// CheckFile reads the script at path and looks for everything in it that cannot
// work: syntax, names that neither the script nor the sandbox has, wrong fields of
// constructors, callbacks that return nothing, also in functions that are not called
// and in modules beside the script. Then it executes the script up to the workflow
// it returns, with nothing behind it: files and folders are read, but nothing is
// written, no command and no agent is run, and the script is told that it went well.
// It may compute for ten seconds, or for Options.ComputeLimit where that is less.
//
// rt says where the workspace is; nothing is run on it, so its run directory may be a
// temporary one. Mistakes are in the Report; an error means that the script could
// not be read.
func CheckFile(ctx context.Context, rt *engine.Runtime, path string, o *Options) (Report, error) {
	source, err := readScript(path)
	if err != nil {
		return Report{}, err
	}
	p, err := Load(path, source, o)
	var syntax *Error
	if errors.As(err, &syntax) {
		return Report{Mistakes: []Mistake{syntax.mistake(readColumns(source))}}, nil
	}
	if err != nil {
		return Report{}, err
	}
	p.dir = folderOf(path)
	p.options.Trust, p.options.ComputeLimit = false, min(p.options.computeLimit(), checkCompute)
	if returnsFunction(path, source) {
		return p.checkRehearsal(ctx, source)
	}
	trusted := o != nil && o.Trust
	return p.check(ctx, rt, source, trusted)
}

// checkCompute is how long a script may compute while it is checked.
const checkCompute = 10 * time.Second

// mistake is the error as one; in may be nil.
func (e *Error) mistake(in *columns) Mistake {
	m := Mistake{File: e.File, Line: e.Line, Text: e.Message}
	if in != nil && e.at.Line > 0 {
		m.Column = in.characters(e.at)
	}
	return m
}

func (p *Program) check(ctx context.Context, rt *engine.Runtime, source string, trusted bool) (Report, error) {
	s, err := p.newState(rt)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	if strings.HasSuffix(p.main.name, TestSuffix) {
		s.openTests()
	}
	n, err := newNames(s, trusted)
	if err != nil {
		return Report{}, err
	}
	n.script(p.main.name, source)
	c := &checker{s: s, trusted: trusted, byArguments: n.arguments}
	c.pretend()
	returned, err := s.execute(ctx, nil)
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	if _, ok := returned.(*lua.LFunction); ok && err == nil {
		return p.checkRehearsal(ctx, source)
	}
	c.judge(returned, err)
	c.leftovers()
	return n.placed(c.report(n)), nil
}

// placed gives every finding its column, and sorts them.
func (n *names) placed(r Report) Report {
	for _, list := range [][]Mistake{r.Mistakes, r.Warnings} {
		for i := range list {
			m := &list[i]
			if c := n.sources[m.File]; c != nil && m.Line > 0 && m.Column == 0 {
				m.Column = c.of(m.Line, m.words()...)
			}
		}
		newMistakes(list)
	}
	return r
}

// words are what may stand at the column, the likeliest first.
func (m Mistake) words() []string {
	if m.word != "" {
		return []string{m.word}
	}
	list := strings.Split(m.Path, ".")
	slices.Reverse(list)
	return list
}

// checker executes a script whose calls have no effect.
type checker struct {
	s           *state
	trusted     bool
	byArguments bool // what the script does depends on its arguments
	pretended   []string
	unchecked   []string
	found       []Mistake
	warned      []Mistake
	fault       *Mistake // by which the script ended
	stopped     bool     // the script did not reach its end
}

// errUnchecked stops a script at what can neither be done nor pretended.
var errUnchecked = errors.New("is not done when a script is checked")

// pretend puts calls without effect in the place of those that have one.
func (c *checker) pretend() {
	flower := behind(c.s.loaded["flower"])
	c.replace(flower, map[string]lua.LGFunction{
		"sh": c.sh, "run": c.run, "workflow": c.workflow, "workbench": c.workbench, "archive": c.yes("flower.archive"),
	})
	for _, module := range []string{"flower.fs", "flower.document"} {
		fns := map[string]lua.LGFunction{}
		for _, name := range []string{"write", "append", "mkdir", "remove", "save"} {
			fns[name] = c.yes(module + "." + name)
		}
		c.replace(behind(c.s.loaded[module]), fns)
	}
	if test := behind(c.s.loaded["flower.test"]); test != nil {
		c.replace(test, map[string]lua.LGFunction{"files": c.yes("flower.test.files"), "copy": c.yes("flower.test.copy")})
	}
	c.refuseMethods(c.s.handle, "run", "interrupt")
	c.refuseMethods(c.s.channelMeta, "ask", "send", "answer", "decline")
	for _, m := range c.s.program.options.Modules {
		c.s.loaded[m.Name] = c.foreign(m.Name, nil)
	}
	if c.trusted {
		for _, name := range []string{lua.IoLibName, lua.OsLibName} {
			c.s.L.SetGlobal(name, c.foreign(name, behind(c.s.L.GetGlobal(name))))
		}
		for _, name := range []string{"dofile", "loadfile"} {
			c.s.L.SetGlobal(name, c.s.L.NewFunction(c.refused(name)))
		}
	}
}

// behind is the table that a read-only one shows.
func behind(v lua.LValue) *lua.LTable {
	t, ok := v.(*lua.LTable)
	if !ok || !isProtected(t) {
		return nil
	}
	inner, _ := t.Metatable.(*lua.LTable).RawGetString("__index").(*lua.LTable)
	return inner
}

// replace puts functions in the place of those there are.
func (c *checker) replace(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, fn := range functions {
		if t.RawGetString(name) != lua.LNil {
			t.RawSetString(name, c.s.L.NewFunction(fn))
		}
	}
}

// note remembers that a call was pretended.
func (c *checker) note(L *lua.LState, what string) {
	c.pretended = append(c.pretended, c.s.where(L)+": "+what)
}

// yes is a function that says that it went well.
func (c *checker) yes(name string) lua.LGFunction {
	return func(L *lua.LState) int {
		c.note(L, name)
		L.Push(lua.LTrue)
		return 1
	}
}

// sh is flower.sh of a command that says nothing and goes well.
func (c *checker) sh(L *lua.LState) int {
	if len(c.pretended) == 0 { // a folder may be one that was to be made
		c.s.commandOptions(L)
	}
	c.note(L, "flower.sh")
	L.Push(c.s.toLua(map[string]any{"code": 0.0, "output": "", "timed_out": false}))
	return 1
}

// workflow collects mistakes, so that those of a second workflow are heard of too.
func (c *checker) workflow(L *lua.LState) int {
	t := c.s.constructor("workflow", "made workflow")
	t(L)
	if made, ok := L.Get(-1).(*lua.LTable); ok {
		c.s.kinds[made].kind = "workflow"
		c.collect(made)
	}
	return 1
}

func (c *checker) collect(t *lua.LTable) {
	c.sameNames(t)
	var list *Mistakes
	if _, err := c.s.toWorkflow(t); errors.As(err, &list) {
		c.found = append(c.found, list.List...)
	}
}

// run is flower.run of a workflow that reaches its end.
func (c *checker) run(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || !c.s.isMade(t, "workflow") {
		return c.s.luaRun(L) // which says what is wrong
	}
	c.collect(t)
	c.note(L, "flower.run")
	out := c.s.toLua(map[string]any{"ok": true, "failed_at": "", "reason": "", "aborted": ""}).(*lua.LTable)
	out.RawSetString("context", L.NewTable())
	L.Push(out)
	return 1
}

// workbench names the folders of the workbench and does not make them.
func (c *checker) workbench(L *lua.LState) int {
	options := c.s.optionTable(L, 1, "flower.workbench")
	options.RawSetString("make", lua.LFalse)
	L.SetTop(0)
	L.Push(options)
	c.note(L, "flower.workbench")
	n := c.s.luaWorkbench(L)
	if t, ok := L.Get(-n).(*lua.LTable); ok && c.s.benches[t] == nil {
		c.s.benches[t] = &workbench.Bench{}
	}
	return n
}

// refuseMethods makes methods of a handle stop the script.
func (c *checker) refuseMethods(meta *lua.LTable, methods ...string) {
	index, ok := meta.RawGetString("__index").(*lua.LFunction)
	if !ok {
		return
	}
	meta.RawSetString("__index", c.s.L.NewFunction(func(L *lua.LState) int {
		name := L.ToStringMeta(L.Get(2)).String()
		if slices.Contains(methods, name) {
			L.Push(L.NewFunction(c.refused(":" + name)))
			return 1
		}
		return index.GFunction(L)
	}))
}

func (c *checker) refused(name string) lua.LGFunction {
	return func(L *lua.LState) int {
		c.s.raise(L, CodeEngine, fmt.Errorf("%s %w", name, errUnchecked))
		return 0
	}
}

// foreign stands for a library whose functions may do anything, save the harmless
// ones.
func (c *checker) foreign(name string, harmless *lua.LTable) *lua.LTable {
	meta := c.s.L.NewTable()
	meta.RawSetString("__index", c.s.L.NewFunction(func(L *lua.LState) int {
		if harmless != nil && harmless.RawGet(L.Get(2)) != lua.LNil {
			L.Push(harmless.RawGet(L.Get(2)))
			return 1
		}
		L.Push(L.NewFunction(c.refused(name + "." + L.ToStringMeta(L.Get(2)).String())))
		return 1
	}))
	t := c.s.L.NewTable()
	c.s.L.SetMetatable(t, meta)
	return t
}

// judge says what the end of the script means.
func (c *checker) judge(returned lua.LValue, err error) {
	var list *Mistakes
	var failed *Error
	switch {
	case err == nil:
		c.judgeReturned(returned)
		return
	case errors.As(err, &list):
		c.found = append(c.found, list.List...)
	case errors.Is(err, errUnchecked) || !errors.As(err, &failed):
		c.unchecked = append(c.unchecked, err.Error())
	case len(c.pretended) > 0:
		c.unchecked = append(c.unchecked, fmt.Sprintf("%v (behind what was not done: %s)", failed, c.pretended[0]))
	case c.byArguments && failed.Code == "":
		c.unchecked = append(c.unchecked, fmt.Sprintf("%v (without arguments)", failed))
	default:
		fault := failed.mistake(nil)
		c.fault = &fault
		c.found = append(c.found, fault)
	}
	c.stopped = true
}

func (c *checker) judgeReturned(returned lua.LValue) {
	switch v := returned.(type) {
	case *lua.LNilType: // a script that does its work itself
	case *lua.LTable:
		if c.s.isMade(v, "workflow") {
			c.collect(v) // also what was set after it was made
			return
		}
		if c.s.kinds[v] == nil {
			return // a module
		}
		c.wrongReturn(v, "what flower.workflow{…} gives, or nothing")
	default:
		c.wrongReturn(v, "what flower.workflow{…} gives, or nothing")
	}
}

func (c *checker) wrongReturn(v lua.LValue, want string) {
	main := c.s.program.main
	c.found = append(c.found, Mistake{File: main.name, Line: main.returns, word: "return",
		Text: fmt.Sprintf("the script returns a %s; return %s", c.s.describe(v), want)})
}

// leftovers reads what was made and is in no workflow.
func (c *checker) leftovers() {
	if c.stopped {
		return // more might have been set
	}
	w := &engine.Workflow{Channel: c.channel()}
	for t, m := range c.s.kinds {
		before := len(c.found)
		c.s.readMade(t, m, &c.found)
		if m.kind != "agent" || len(c.found) > before {
			continue
		}
		var none []Mistake
		if err := c.s.rt.CheckIn(w, c.s.readSpec(t, m.role, &none)); err != nil {
			c.found = append(c.found, c.s.fieldMistake(t, m.role, "", err))
		}
	}
}

// channel is that of a workflow of the script, whose tools its callbacks' agents have
// too; nil where none has one.
func (c *checker) channel() *human.Channel {
	for t, m := range c.s.kinds {
		if u, ok := t.RawGetString("channel").(*lua.LUserData); ok && m.kind == "workflow" {
			if ch, ok := u.Value.(*human.Channel); ok {
				return ch
			}
		}
	}
	return nil
}

// readMade reads a table that a constructor made.
func (s *state) readMade(t *lua.LTable, m *made, found *[]Mistake) {
	switch m.kind {
	case "agent":
		s.readSpec(t, m.role, found)
	case "worker":
		s.readWorker(t, m.role, found)
	case "guard":
		s.readGuard(t, m.role, found)
	case "tool":
		s.readTool(t, m.role, found)
	case "step":
		s.readStep(t, m.role, found)
	}
}

// report puts together what was found by executing and by reading; of two about
// the same field the first has the fuller path. Where a line is wrong as it is
// written, what came of it when it was executed says nothing more.
func (c *checker) report(n *names) Report {
	type key struct {
		file, field string
		line        int
	}
	wrong, seen, noTools := map[key]bool{}, map[key]bool{}, map[string]bool{}
	for _, m := range n.found {
		wrong[key{file: m.File, line: m.Line}] = true
		noTools[m.word] = m.word != ""
	}
	c.found = slices.DeleteFunc(c.found, func(m Mistake) bool {
		// A tool is named at its own line by what was read, else at the list's.
		name, _, _ := strings.Cut(strings.TrimPrefix(m.Text, `names "`), `"`)
		return noTools[name] || c.fault != nil && m == *c.fault && wrong[key{file: m.File, line: m.Line}]
	})
	var all []Mistake
	for _, m := range append(newMistakes(c.found).List, n.found...) {
		field := m.Path[strings.LastIndex(m.Path, ".")+1:]
		if m.Path == "" || strings.HasPrefix(m.Text, holdsValue) {
			field = "\x00" + m.Text
		}
		k := key{m.File, field, m.Line}
		if !seen[k] {
			seen[k] = true
			all = append(all, m)
		}
	}
	return Report{Mistakes: newMistakes(all).List, Warnings: append(n.warned, c.warned...), Unchecked: c.unchecked}
}
