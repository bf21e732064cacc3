package luabind

import (
	"context"
	"fmt"
	"reflect"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/internal/spell"
)

var (
	stringsType = reflect.TypeFor[[]string]()
	resultType  = reflect.TypeFor[engine.Result]()
)

// runFlow is run([{ context = …, step = … }]) of a loaded script: the workflow as
// flower runs it, with the stub for a model.
func (b *bed) runFlow(t *lua.LTable, title string) lua.LGFunction {
	return func(L *lua.LState) int {
		flow := b.flow(L, t, title)
		options := b.runOptions(L, flow)
		begun := len(b.prompts())
		var ending engine.Ending
		var err error
		b.s.block(func(ctx context.Context) {
			ending, err = b.rt.RunWorkflow(ctx, flow, options)
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		})
		if broken := b.noted(); broken != nil {
			err = broken
		}
		if err != nil {
			b.raise(L, err)
		}
		out := b.s.endingTable(ending)
		out.RawSetString("results", list(b.s, ending.Results))
		prompts := b.s.L.NewTable()
		for _, sent := range b.prompts()[begun:] {
			prompts.Append(b.s.toLua(map[string]string{"step": sent.step, "prompt": sent.prompt}))
		}
		out.RawSetString("prompts", prompts)
		L.Push(out)
		return 1
	}
}

func (b *bed) prompts() []sentPrompt {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent
}

// flow reads a workflow. One without a name has its script's.
func (b *bed) flow(L *lua.LState, t *lua.LTable, title string) *engine.Workflow {
	flow, err := b.s.toWorkflow(t)
	if err != nil {
		b.s.raise(L, CodeMisuse, err)
	}
	if t.RawGetString("name") == lua.LNil {
		flow.Name = title
	}
	return flow
}

// runOptions reads those of run, and leaves one step in the workflow where they name
// it.
func (b *bed) runOptions(L *lua.LState, flow *engine.Workflow) engine.WorkflowOptions {
	o := b.s.workflowOptions()
	var found []Mistake
	r := b.s.reader(L, b.s.optionTable(L, 1, "run"), "", &found)
	switch v := r.get("context").(type) {
	case *lua.LNilType:
	case *lua.LTable:
		o.Context = &tableContext{s: b.s, t: v}
	default:
		r.mustBe("context", "a table", v)
	}
	if name := r.text("step"); name != "" {
		b.only(r, flow, name)
	}
	r.finish()
	if len(found) > 0 {
		b.s.raise(L, CodeMisuse, newMistakes(found))
	}
	return o
}

func (b *bed) only(r *reader, flow *engine.Workflow, name string) {
	var names []string
	for _, s := range flow.Steps {
		members := s.Parallel
		if members == nil {
			members = []engine.Step{s}
		}
		for _, member := range members {
			if member.Name == name && member.ResumeFrom != "" {
				r.wrong("step", "%s continues the session of %s, so it cannot run alone", name, member.ResumeFrom)
				return
			}
			if member.Name == name {
				flow.Steps = []engine.Step{member}
				return
			}
			names = append(names, member.Name)
		}
	}
	r.wrong("step", "no step is called %q%s", name, spell.Hint(name, names))
}

// replayFlow is replay(results) of a loaded script: when, gate, on_reject and reduce
// on results that were recorded or made up, as flower replay evaluates them. It gives
// the attempts, and ctx.
func (b *bed) replayFlow(t *lua.LTable, title string) lua.LGFunction {
	return func(L *lua.LState) int {
		flow := b.flow(L, t, title)
		rows := b.rows(L)
		w := b.rt.Harness().(*watched)
		w.record(rows)
		var all []engine.Replayed
		var err error
		b.s.block(func(ctx context.Context) { all, err = b.rt.Replay(ctx, flow, engine.ReplayOptions{Rows: rows}) })
		w.record(nil)
		if broken := b.noted(); broken != nil {
			err = broken
		}
		if err != nil {
			b.raise(L, err)
		}
		out := L.CreateTable(len(all), 0)
		for _, r := range all {
			out.Append(b.replayedTable(r))
		}
		L.Push(out)
		L.Push(b.s.contextValue(flow.Context))
		return 2
	}
}

func (b *bed) replayedTable(r engine.Replayed) *lua.LTable {
	t := b.s.L.CreateTable(0, 7)
	label := r.Result.Step
	if label == "" {
		label = r.Step
	}
	for field, text := range map[string]string{
		"step": r.Step, "label": label, "verdict": string(r.Verdict), "reason": r.Reason, "sent": r.Sent, "value": r.Value,
	} {
		t.RawSetString(field, lua.LString(text))
	}
	t.RawSetString("result", b.s.resultTable(r.Result))
	return t
}

// rows are the argument of replay: a list of results, each with its step.
func (b *bed) rows(L *lua.LState) []engine.Result {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || t.Len() == 0 {
		b.s.misuse(L, "replay takes a list of results, such as { { step = \"fix\", text = \"done\" } } or what flower.test.recorded gives; it was given %s", b.s.describeArgs(L))
	}
	rows := make([]engine.Result, t.Len())
	for i := range rows {
		row, err := b.toResult(t.RawGetInt(i + 1))
		if err == nil && row.Step == "" {
			err = fmt.Errorf("has no step: the label of the attempt, such as fix or fix#round2")
		}
		if err != nil {
			b.s.misuse(L, "replay: result %d: %v", i+1, err)
		}
		rows[i] = row
	}
	return rows
}
