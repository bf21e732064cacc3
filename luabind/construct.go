package luabind

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// constructor makes a Lua function that takes one table, marks it as being of a
// kind and gives it back. What is in it is checked when it is used, so that all
// mistakes of a workflow are reported together, also those of fields the script
// set later.
func (s *state) constructor(name, kind string) lua.LGFunction {
	return func(L *lua.LState) int {
		t, ok := L.Get(1).(*lua.LTable)
		if L.Get(1) == s.loaded["flower"] {
			s.misuse(L, "call flower.%s with a dot: flower.%s{ … }", name, name)
		}
		if !ok || L.GetTop() != 1 {
			s.misuse(L, "flower.%s takes one table: flower.%s{ … }; it was given %s", name, name, s.describeArgs(L))
		}
		if s.kinds[t] != nil {
			s.misuse(L, "flower.%s was given the table of a %s; give it a table of its own", name, s.kinds[t].kind)
		}
		file, line := s.caller(L)
		at := &position{file: file, line: line}
		if c := s.chunks[file]; c != nil {
			at = c.locate(line, t)
		}
		s.kinds[t] = &made{kind: kind, role: name, at: at}
		if kind == "workflow" {
			if _, err := s.toWorkflow(t); err != nil {
				s.raise(L, CodeMisuse, err)
			}
			s.unused = at
		}
		L.Push(t)
		return 1
	}
}

func (s *state) describeArgs(L *lua.LState) string {
	if L.GetTop() == 0 {
		return "nothing"
	}
	out := ""
	for i := 1; i <= L.GetTop(); i++ {
		if i > 1 {
			out += ", "
		}
		out += "a " + s.describe(L.Get(i))
	}
	return out
}

func (s *state) isMade(t *lua.LTable, kind string) bool {
	m := s.kinds[t]
	return m != nil && m.kind == kind
}

// toWorkflow reads a workflow with its steps and specs; the error is *Mistakes.
func (s *state) toWorkflow(t *lua.LTable) (*engine.Workflow, error) {
	var found []Mistake
	r := s.reader(s.L, t, "", &found)
	w := &engine.Workflow{Name: cmp.Or(r.text("name"), s.program.title()), Context: s.readContext(r)}
	if v := r.get("continuous"); v != lua.LNil {
		w.Once = !r.boolean("continuous")
	}
	if fn := r.function("on_step"); fn != nil {
		w.OnStep = s.onStep(fn)
	}
	w.Channel = s.readChannel(r)
	w.Workbench = s.readWorkbench(r)
	w.Plugins = r.texts("plugins")
	if r.required("steps", "a list of flower.step{…}") {
		s.readSteps(r, w)
	}
	r.finish()
	if len(found) > 0 {
		return nil, newMistakes(found)
	}
	return w, nil
}

func (s *state) readContext(r *reader) engine.Context {
	v := r.get("context")
	if v == lua.LNil {
		// Kept in the table, so that running the workflow twice reuses it.
		t := s.L.NewTable()
		r.t.RawSetString("context", t)
		return &tableContext{s: s, t: t}
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		r.mustBe("context", "a table", v)
		return nil
	}
	return &tableContext{s: s, t: t}
}

func (s *state) readSteps(r *reader, w *engine.Workflow) {
	steps, ok := r.get("steps").(*lua.LTable)
	if !ok || s.kinds[steps] != nil {
		r.mustBe("steps", "a list of flower.step{…}", r.get("steps"))
		return
	}
	if steps.Len() == 0 {
		r.wrong("steps", "is empty; a workflow has at least one flower.step{…}")
	}
	if steps.Len() > maxSteps {
		r.wrong("steps", "holds %d steps; a workflow may have %d", steps.Len(), maxSteps)
		return
	}
	var earlier []string
	for i := 1; i <= steps.Len() && len(*r.found) < maxMistakes; i++ {
		path := fmt.Sprintf("steps[%d]", i)
		t, ok := steps.RawGetInt(i).(*lua.LTable)
		if ok && s.isMade(t, "parallel") {
			group := s.readParallel(t, path, earlier, w, r.found)
			for _, member := range group.Parallel {
				earlier = append(earlier, member.Name)
			}
			w.Steps = append(w.Steps, group)
			continue
		}
		if !ok || !s.isMade(t, "step") {
			r.wrong("steps", "item %d is a %s; it must be a flower.step{…}", i, s.describe(steps.RawGetInt(i)))
			continue
		}
		step := s.readCheckedStep(t, path, earlier, w, r.found)
		earlier = append(earlier, step.Name)
		w.Steps = append(w.Steps, step)
	}
}

// readCheckedStep reads a step and, when its fields have the right types, what the
// engine itself finds wrong.
func (s *state) readCheckedStep(t *lua.LTable, path string, earlier []string, w *engine.Workflow, found *[]Mistake) engine.Step {
	before := len(*found)
	step := s.readStep(t, path, found)
	if len(*found) == before {
		s.checkStep(t, path, step, earlier, found)
	}
	if len(*found) > before {
		return step
	}
	if err := s.rt.CheckIn(w, step.Spec); err != nil {
		*found = append(*found, s.fieldMistake(t, path, "spec", err))
	}
	return step
}

// fieldMistake is what is wrong with a field of a table, "" for the table itself, or
// with one of the tables in it where the error says so.
func (s *state) fieldMistake(t *lua.LTable, path, field string, err error) Mistake {
	var names []string
	if field != "" {
		names = append(names, field)
	}
	var inner *harness.FieldError
	if errors.As(err, &inner) {
		names, err = append(names, strings.Split(inner.Field, ".")...), inner.Err
	}
	m := Mistake{Path: strings.Join(append([]string{path}, names...), "."), Text: err.Error()}
	if made := s.kinds[t]; made != nil {
		m.File, m.Line = made.at.file, made.at.line
	}
	for _, name := range names {
		if made := s.kinds[t]; made != nil {
			m.File, m.Line = made.at.file, made.at.lineOf(name)
		}
		next, ok := t.RawGetString(name).(*lua.LTable)
		if !ok {
			break
		}
		t = next
	}
	return m
}

// title is the name of a workflow that has none: that of the script, so that the
// workflows of two scripts are not taken for one.
func (p *Program) title() string {
	base := filepath.Base(p.main.name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// readParallel reads flower.parallel{ step, step, … }.
func (s *state) readParallel(t *lua.LTable, path string, earlier []string, w *engine.Workflow, found *[]Mistake) engine.Step {
	r := s.reader(s.L, t, path, found)
	group := engine.Step{Parallel: []engine.Step{}}
	names := map[string]bool{}
	for i := 1; i <= t.Len(); i++ {
		at := fmt.Sprintf("%s[%d]", path, i)
		member, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok || !s.isMade(member, "step") {
			r.wrong("", "item %d is a %s; it must be a flower.step{…}", i, s.describe(t.RawGetInt(i)))
			continue
		}
		step := s.readCheckedStep(member, at, earlier, w, found)
		if names[step.Name] {
			r.wrong("", "two steps side by side are called %q", step.Name)
		}
		names[step.Name] = true
		group.Parallel = append(group.Parallel, step)
	}
	if t.Len() == 0 {
		r.wrong("", "is empty; it holds the steps that run side by side")
	}
	t.ForEach(func(k, _ lua.LValue) {
		if k.Type() != lua.LTNumber {
			r.wrong("", "holds the field %s; it is a list of steps", k)
		}
	})
	return group
}

// checkStep adds what the engine itself finds wrong with a step whose fields
// have the right types.
func (s *state) checkStep(t *lua.LTable, path string, step engine.Step, earlier []string, found *[]Mistake) {
	for _, m := range step.Mistakes(earlier) {
		at := s.kinds[t].at
		*found = append(*found, Mistake{File: at.file, Line: at.lineOf(m.Field), Path: path + "." + m.Field, Text: m.Text})
	}
}

func (s *state) readStep(t *lua.LTable, path string, found *[]Mistake) engine.Step {
	r := s.reader(s.L, t, path, found)
	step := engine.Step{}
	if r.required("name", "a string") {
		step.Name = r.text("name")
	}
	if r.required("spec", "a flower.agent{…}") {
		step.Spec = s.readSpecField(r)
	}
	if r.required("prompt", "a string or a function of ctx") {
		step.Prompt = s.readPrompt(r, "prompt")
	}
	step.ResumePrompt = s.readPrompt(r, "resume_prompt")
	step.ResumeFrom = r.text("resume_from")
	step.Fork = r.boolean("fork")
	step.Retries = r.count("retries")
	step.OnFail = engine.OnFail(r.oneOf("on_fail", "stop", "skip", "continue"))
	if fn := r.function("gate"); fn != nil {
		step.Gate = s.gate(fn)
	}
	if fn := r.function("when"); fn != nil {
		step.When = s.when(fn)
	}
	if fn := r.function("on_reject"); fn != nil {
		step.OnReject = s.onReject(fn)
	}
	if fn := r.function("reduce"); fn != nil {
		step.Reduce = s.reduce(fn)
	}
	r.finish()
	return step
}

func (s *state) readSpecField(r *reader) engine.Spec {
	t, ok := r.get("spec").(*lua.LTable)
	if !ok || !s.isMade(t, "agent") {
		r.mustBe("spec", "a flower.agent{…}", r.get("spec"))
		return engine.Spec{}
	}
	return s.readSpec(t, r.fieldPath("spec"), r.found)
}

// readSpec reads an agent: a plain one, or one of a role.
func (s *state) readSpec(t *lua.LTable, path string, found *[]Mistake) engine.Spec {
	r := s.reader(s.L, t, path, found)
	if m := s.kinds[t]; m != nil && m.role != "agent" {
		return s.readRole(r, engine.Role(m.role))
	}
	spec := engine.Spec{}
	if r.required("name", "a string") {
		spec.Name = r.text("name")
	}
	spec.Instructions = r.text("instructions")
	spec.AllowedTools = r.texts("allowed_tools")
	spec.DisallowedTools = r.texts("disallowed_tools")
	spec.Model = r.text("model")
	spec.Effort = readEffort(r)
	spec.MaxTurns = r.count("max_turns")
	spec.MaxBudgetUSD = r.amount("max_budget_usd")
	spec.PermissionMode = readMode(r)
	spec.Glance, spec.DelegateOnly = r.boolean("glance"), r.boolean("delegate_only")
	spec.NoWorkbench = r.off("workbench")
	spec.Workers = s.readWorkers(r)
	if len(spec.Workers) > 0 && !slices.Contains(spec.AllowedTools, "Agent") {
		r.wrong("workers", `cannot be dispatched: allowed_tools does not name "Agent"`)
	}
	spec.AddDirs = r.texts("add_dirs")
	spec.Env = r.dict("env")
	spec.MCPServers = s.readServers(r)
	spec.Plugins = r.texts("plugins")
	spec.Compact = s.readCompact(r)
	spec.Guards = s.readGuards(r)
	s.offerHuman(&spec, s.readChannel(r))
	s.offerOwn(r, &spec)
	r.finish()
	return spec
}

// readEffort is a level or a number of tokens.
func readEffort(r *reader) string {
	v := r.get("effort")
	effort := ""
	if n, ok := integer(v); ok {
		effort = fmt.Sprint(n)
	} else {
		effort = r.text("effort")
	}
	if err := engine.CheckEffort(effort); err != nil {
		r.wrong("effort", "%v", err)
		return ""
	}
	return effort
}

func (s *state) readPrompt(r *reader, field string) engine.Prompt {
	switch v := r.get(field).(type) {
	case *lua.LNilType:
		return nil
	case lua.LString:
		if strings.TrimSpace(string(v)) == "" {
			r.wrong(field, "is empty; it is what the agent is asked")
		}
		return engine.Text(string(v))
	case *lua.LFunction:
		return s.prompt(field, v)
	default:
		r.mustBe(field, "a string or a function of ctx", v)
		return nil
	}
}
