package luabind

import (
	"context"
	"fmt"
	"net/http"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/model"
)

// stubs stand in a test for what a run would reach outside: the model, commands of
// the script, the person who watches. They belong to the state's goroutine.
type stubs struct {
	model, sh, person *lua.LFunction // nil: there is none
	// within is how many calls from Go into Lua are open where the stub of commands is
	// at work; 0: it is not. A callback that is called meanwhile is not within it.
	within int
}

// stub is flower.test.stub{ model = …, sh = …, person = … }.
func (b *bed) stub(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || L.GetTop() != 1 {
		b.s.misuse(L, "flower.test.stub takes one table: flower.test.stub{ model = … }; it was given %s", b.s.describeArgs(L))
	}
	var found []Mistake
	r := b.s.reader(L, t, "", &found)
	next := b.stubs
	if fn := b.modelStub(r); fn != nil {
		next.model = fn
	}
	if fn := r.function("sh"); fn != nil {
		next.sh = fn
	}
	if fn := r.function("person"); fn != nil {
		next.person = fn
	}
	r.finish()
	if len(found) > 0 {
		b.s.raise(L, CodeMisuse, newMistakes(found))
	}
	b.stubs = next
	return 0
}

// modelStub is a function that plays the model, or makes one of a list of answers.
func (b *bed) modelStub(r *reader) *lua.LFunction {
	v := r.get("model")
	switch v := v.(type) {
	case *lua.LNilType:
		return nil
	case *lua.LFunction:
		return v
	case *lua.LTable:
		if n := v.Len(); n > 0 {
			return b.inOrder(r, v, n)
		}
	}
	r.mustBe("model", "a function of turn, or a list of answers", v)
	return nil
}

func (b *bed) inOrder(r *reader, list *lua.LTable, n int) *lua.LFunction {
	answers := make([]lua.LValue, n)
	for i := range answers {
		answers[i] = list.RawGetInt(i + 1)
		if kind := answers[i].Type(); kind != lua.LTString && kind != lua.LTTable {
			r.wrong("model", "item %d is a %s; an answer is a string or a table", i+1, b.s.describe(answers[i]))
		}
	}
	asked := 0
	return b.s.L.NewFunction(func(L *lua.LState) int {
		asked++
		if asked > n {
			b.s.raise(L, CodeMisuse, &Error{File: r.at.file, Line: r.at.lineOf("model"), Code: CodeMisuse,
				Message: fmt.Sprintf("the model was asked once more than the stub has answers (%d); the last one may have to be a text, which ends the turn", n)})
		}
		L.Push(answers[asked-1])
		return 1
	})
}

// stubModel is the model of a test: it asks the stub.
type stubModel struct{ b *bed }

// Info knows every model, at no price.
func (m *stubModel) Info(_ context.Context, name string) (model.Info, error) {
	return freeModel(name), nil
}

// Stream asks the stub. One that does not work fails the test, and is to the engine an
// answer of status 400, which nobody repeats.
func (m *stubModel) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	var a answer
	var failure, broken error
	if err := m.b.s.do(ctx, func() { a, failure, broken = m.b.answer(ctx, req) }); err != nil {
		return nil, err
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case broken != nil:
		m.b.note(broken)
		return nil, &model.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: broken.Error()}
	case failure != nil:
		return nil, failure
	}
	return a.stream(req), nil
}

// answer asks the stub on the state's goroutine. failure is one that it plays.
func (b *bed) answer(ctx context.Context, req model.Request) (a answer, failure, broken error) {
	fn := b.stubs.model
	if fn == nil {
		return answer{}, nil, &Error{File: b.file.path, Code: CodeMisuse, Message: fmt.Sprintf(
			"%s asks the model, and tests ask no real one: play it with flower.test.stub{ model = function(turn) … end }", asker(req.Meta))}
	}
	r := &Rehearsal{program: b.s.program, s: b.s, fn: fn}
	out, err := b.s.call(ctx, fn, 1, r.question(req))
	if err != nil {
		return answer{}, nil, err
	}
	return r.read(out[0])
}

func asker(m model.Meta) string {
	if m.Step == "" {
		return "an agent"
	}
	return "step " + m.Step
}

// luaSh is flower.sh in a test: where there is a stub and it gives a table, that is
// how the command ended; where it gives nil, or calls flower.sh itself, the command
// is run.
func (b *bed) luaSh(L *lua.LState) int {
	line, ok := L.Get(1).(lua.LString)
	here, outer := len(b.s.clock.spans), b.stubs.within
	if b.stubs.sh == nil || outer == here || !ok {
		return b.s.luaSh(L)
	}
	options := b.s.optionTable(L, 2, "flower.sh")
	b.checkOptions(L, options)
	b.stubs.within = here
	defer func() { b.stubs.within = outer }()
	L.Push(b.stubs.sh)
	L.Push(line)
	L.Push(options)
	L.Call(2, 1)
	ended := L.Get(-1)
	L.Pop(1)
	switch t := ended.(type) {
	case *lua.LNilType:
		return b.s.luaSh(L)
	case *lua.LTable:
		L.Push(b.commandResult(L, t))
		return 1
	}
	b.s.raise(L, CodeMisuse, b.s.badReturn(b.stubs.sh, "the stub of flower.sh", "a table such as { code = 1, output = \"…\" }, or nil", ended))
	return 0
}

// checkOptions checks those of flower.sh, but not whether the folder is there.
func (b *bed) checkOptions(L *lua.LState, options *lua.LTable) {
	var found []Mistake
	r := b.s.reader(L, options, "", &found)
	r.seconds("timeout")
	r.text("dir")
	r.finish()
	if len(found) > 0 {
		b.s.raise(L, CodeMisuse, newMistakes(found))
	}
}

// commandResult completes what a stub says of a command.
func (b *bed) commandResult(L *lua.LState, t *lua.LTable) *lua.LTable {
	var found []Mistake
	fn := b.stubs.sh
	at := &position{file: b.file.path}
	if fn.Proto != nil {
		at = &position{file: fn.Proto.SourceName, line: fn.Proto.LineDefined}
	}
	r := &reader{s: b.s, t: t, at: at, path: "what the stub returns", found: &found}
	out := L.CreateTable(0, 5)
	out.RawSetString("code", lua.LNumber(0))
	if n, ok := integer(r.get("code")); ok {
		out.RawSetString("code", lua.LNumber(n)) // -1 is one too
	} else if r.has("code") {
		r.mustBe("code", "a whole number", r.get("code"))
	}
	out.RawSetString("output", lua.LString(r.text("output")))
	out.RawSetString("timed_out", lua.LBool(r.boolean("timed_out")))
	for _, field := range []string{"signal", "file"} {
		if text := r.text(field); text != "" {
			out.RawSetString(field, lua.LString(text))
		}
	}
	r.finish()
	if len(found) > 0 {
		b.s.raise(L, CodeMisuse, newMistakes(found))
	}
	return out
}

// luaChannel is flower.channel in a test: its questions go to the stub.
func (b *bed) luaChannel(L *lua.LState) int {
	p := &person{b: b}
	n := b.s.makeChannel(L, p)
	if u, ok := L.Get(-1).(*lua.LUserData); ok {
		p.ch, _ = u.Value.(*human.Channel)
	}
	return n
}

// person answers the questions of a channel. Where nobody plays the person, every
// question is left to the agent, so that no test waits for ever.
type person struct {
	b  *bed
	ch *human.Channel
}

// Emit is called on the goroutine of whoever asks, when the question is open.
func (p *person) Emit(e event.Event) {
	id, _ := e.Payload["id"].(string)
	if e.Kind != event.Ask || e.Payload["state"] != string(human.Asked) {
		return
	}
	text, answered := "", false
	err := p.b.s.do(p.b.s.run, func() {
		for _, q := range p.ch.Pending() {
			if q.ID == id {
				text, answered = p.b.askPerson(q)
			}
		}
	})
	if err == nil && answered {
		p.ch.Answer(id, text)
		return
	}
	p.ch.Decline(id)
}

func (b *bed) askPerson(q human.Question) (text string, answered bool) {
	fn := b.stubs.person
	if fn == nil {
		return "", false
	}
	out, err := b.s.call(b.s.run, fn, 1, b.s.viaJSON(q))
	if err != nil {
		b.note(err)
		return "", false
	}
	answer, ok := out[0].(lua.LString)
	if !ok && out[0] != lua.LNil {
		b.note(b.s.badReturn(fn, "the stub of the person", "the answer, a string, or nil", out[0]))
	}
	return string(answer), ok
}

// sentPrompt is what an agent was asked, under the label of its step.
type sentPrompt struct{ step, prompt string }

// watched is the harness of a test. It keeps the prompts, and answers from recorded
// results where a replay has some.
type watched struct {
	bed   *bed
	inner harness.Harness

	// recorded is set while recorded results are judged, on the state's goroutine,
	// which starts whatever runs meanwhile.
	recorded harness.Harness
	labels   map[string]bool
}

// Name is that of the harness within.
func (w *watched) Name() string { return w.inner.Name() }

// Prices asks the harness within.
func (w *watched) Prices(ctx context.Context, model string) bool { return w.inner.Prices(ctx, model) }

// Window asks the harness within.
func (w *watched) Window(ctx context.Context, model string) int64 {
	if inner, ok := w.inner.(harness.Windower); ok {
		return inner.Window(ctx, model)
	}
	return 0
}

// Compacts asks the harness within.
func (w *watched) Compacts() bool {
	inner, ok := w.inner.(harness.Compactor)
	return ok && inner.Compacts()
}

// Run keeps the prompt and runs the turn.
func (w *watched) Run(ctx context.Context, t harness.Turn) (harness.Outcome, error) {
	w.bed.mu.Lock()
	w.bed.sent = append(w.bed.sent, sentPrompt{t.Step, t.Prompt})
	recorded := w.recorded
	if !w.labels[t.Step] {
		recorded = nil
	}
	w.bed.mu.Unlock()
	if recorded != nil {
		return recorded.Run(ctx, t)
	}
	return w.inner.Run(ctx, t)
}

// record has turns answered by recorded results, where there are some under their
// label; nil ends that.
func (w *watched) record(rows []engine.Result) {
	w.bed.mu.Lock()
	defer w.bed.mu.Unlock()
	w.recorded, w.labels = nil, nil
	if rows != nil {
		w.recorded, w.labels = engine.Recorded(rows), map[string]bool{}
	}
	for _, row := range rows {
		w.labels[row.Step] = true
	}
}
