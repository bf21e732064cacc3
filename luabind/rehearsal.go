package luabind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/model"
)

// Rehearsal is a Lua function that plays the model, so that a workflow can be run
// without a network and a key. Everything else is real: tools run, transcripts
// are stored, gates decide. It costs nothing.
//
// The file returns a function of one table:
//
//	step, role, agent   who asks; agent is a subagent's id or ""
//	turn                from 1, counted from the transcript
//	prompt              the newest words of the user
//	messages            list of {role, text, calls = {{id, tool, input}}, results = {{id, text, is_error}}}
//	tools               list of the names offered
//
// It returns a text, or a table of
//
//	text, thinking      what the model says
//	tool, input         one call, or
//	calls               list of {tool, input}
//	stop                the stop reason; by itself end_turn or tool_use
//	error               {status, type, message, retry_after}: the request fails
//
// The function should depend on its argument alone: after a crash it is asked
// again for the turn that was not stored.
type Rehearsal struct {
	program *Program

	mu sync.Mutex // one request at a time: the state is one
	s  *state
	fn *lua.LFunction
}

// LoadRehearsal runs the file at path and takes the function it returns. Of the
// options, which may be nil, the limits count. The caller closes it.
func LoadRehearsal(path string, o *Options) (*Rehearsal, error) {
	if o != nil {
		o = &Options{ComputeLimit: o.ComputeLimit, MemoryLimit: o.MemoryLimit}
	}
	p, err := LoadFile(path, o)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{program: p, s: p.newBare()}
	r.s.withoutFlower()
	r.s.loaded["flower.json"] = r.s.readOnly("flower.json", r.s.jsonTable())
	out, err := r.s.call(context.Background(), r.s.L.NewFunctionFromProto(p.main.proto), 1)
	if err != nil {
		r.Close()
		return nil, err
	}
	fn, ok := out[0].(*lua.LFunction)
	if !ok {
		r.Close()
		return nil, &Error{File: path, Code: CodeMisuse,
			Message: "a rehearsal returns the function that plays the model, this returned a " + r.s.describe(out[0])}
	}
	r.fn = fn
	return r, nil
}

// withoutFlower says what a script finds out by "attempt to index a nil value"
// otherwise.
func (s *state) withoutFlower() {
	none := func(L *lua.LState) int {
		s.misuse(L, `a rehearsal has no flower: it plays the model, and gets all it may know as its argument (require("flower.json") is there)`)
		return 0
	}
	meta := s.L.NewTable()
	meta.RawSetString("__index", s.L.NewFunction(none))
	meta.RawSetString("__newindex", s.L.NewFunction(none))
	flower := s.L.NewTable()
	flower.Metatable = meta
	s.L.SetGlobal("flower", flower)
}

// Close frees the state. Later requests fail.
func (r *Rehearsal) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s != nil {
		r.s.close()
		r.s = nil
	}
}

// Info knows every model, at no price.
func (r *Rehearsal) Info(_ context.Context, name string) (model.Info, error) {
	return freeModel(name), nil
}

// freeModel is what is known of a model that a script plays.
func freeModel(name string) model.Info {
	return model.Info{Name: name, Window: 1_000_000, MaxOutput: 32_000, Price: &model.Price{}}
}

// Stream asks the function. A function that fails is an answer of status 400,
// which nobody repeats.
func (r *Rehearsal) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s == nil {
		return nil, fmt.Errorf("the rehearsal is closed")
	}
	out, err := r.s.call(ctx, r.fn, 1, r.question(req))
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, r.broken(err.Error())
	}
	a, err := r.answer(out[0])
	if err != nil {
		return nil, err
	}
	return a.stream(req), nil
}

func (r *Rehearsal) broken(text string) error {
	return &model.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "the rehearsal failed: " + text}
}

// question is the argument of the function.
func (r *Rehearsal) question(req model.Request) *lua.LTable {
	s := r.s
	t := s.L.NewTable()
	t.RawSetString("step", lua.LString(req.Meta.Step))
	t.RawSetString("role", lua.LString(req.Meta.Role))
	t.RawSetString("agent", lua.LString(req.Meta.Agent))
	t.RawSetString("turn", lua.LNumber(req.Meta.Turn))
	messages := make([]any, len(req.Messages))
	prompt := ""
	for i, m := range req.Messages {
		messages[i] = readMessage(m)
		if text, _ := messages[i].(map[string]any)["text"].(string); m.Role == "user" && text != "" {
			prompt = text
		}
	}
	t.RawSetString("prompt", lua.LString(prompt))
	t.RawSetString("messages", s.toLua(messages))
	var tools []string
	for _, raw := range req.Tools {
		var def struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &def) == nil {
			tools = append(tools, def.Name)
		}
	}
	t.RawSetString("tools", s.toLua(tools))
	return t
}

// block is what a rehearsal is shown of a content block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     any             `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func readMessage(m model.Message) map[string]any {
	text := ""
	calls, results := []any{}, []any{}
	for _, raw := range m.Content {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			if text != "" {
				text += "\n"
			}
			text += b.Text
		case "tool_use":
			calls = append(calls, map[string]any{"id": b.ID, "tool": b.Name, "input": b.Input})
		case "tool_result":
			results = append(results, map[string]any{"id": b.ToolUseID, "text": resultText(b.Content), "is_error": b.IsError})
		}
	}
	return map[string]any{"role": m.Role, "text": text, "calls": calls, "results": results}
}

// resultText is the text of a result, which is a string or a list of blocks.
func resultText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for i, b := range blocks {
		if i > 0 {
			text += "\n"
		}
		text += b.Text
	}
	return text
}

// answer is what the function returned.
type answer struct {
	text, thinking, stop string
	calls                []call
}

type call struct {
	tool  string
	input json.RawMessage
}

func (r *Rehearsal) answer(v lua.LValue) (answer, error) {
	a, failure, wrong := r.read(v)
	if wrong != nil {
		return answer{}, r.broken(wrong.Error())
	}
	return a, failure
}

// read reads what the function returned: an answer, or a failure that it plays. wrong
// is what it may not return.
func (r *Rehearsal) read(v lua.LValue) (a answer, failure, wrong error) {
	if text, ok := v.(lua.LString); ok {
		return answer{text: string(text)}, nil, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return answer{}, nil, r.s.badReturn(r.fn, "a rehearsal", "a string or a table", v)
	}
	var found []Mistake
	rd := &reader{s: r.s, t: t, at: r.place(), found: &found}
	a = answer{text: rd.text("text"), thinking: rd.text("thinking"), stop: rd.text("stop")}
	if rd.has("tool") {
		a.calls = append(a.calls, r.call(rd))
	}
	rd.asked = append(rd.asked, "tool", "input")
	a.calls = append(a.calls, r.callList(rd)...)
	failure = r.failure(rd)
	rd.finish()
	if len(found) > 0 {
		return answer{}, nil, newMistakes(found)
	}
	return a, failure, nil
}

func (r *Rehearsal) place() *position {
	if r.fn.Proto == nil {
		return &position{file: r.program.main.name}
	}
	return &position{file: r.fn.Proto.SourceName, line: r.fn.Proto.LineDefined}
}

func (r *Rehearsal) callList(rd *reader) []call {
	v := rd.get("calls")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v != lua.LNil {
			rd.mustBe("calls", "a list of {tool, input}", v)
		}
		return nil
	}
	var calls []call
	for i := 1; i <= t.Len(); i++ {
		path := fmt.Sprintf("calls[%d]", i)
		item, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok {
			rd.wrong("calls", "item %d is a %s; it must be {tool, input}", i, r.s.describe(t.RawGetInt(i)))
			continue
		}
		one := &reader{s: r.s, t: item, path: path, at: rd.at, found: rd.found}
		calls = append(calls, r.call(one))
		one.finish()
	}
	return calls
}

func (r *Rehearsal) call(rd *reader) call {
	c := call{tool: rd.text("tool"), input: json.RawMessage("{}")}
	if c.tool == "" {
		rd.wrong("tool", "is missing; it is the tool's name")
	}
	v := rd.get("input")
	if v == lua.LNil {
		return c
	}
	if _, ok := v.(*lua.LTable); !ok {
		rd.mustBe("input", "a table", v)
		return c
	}
	text, err := r.s.encodeJSON(v, false)
	if err != nil {
		rd.wrong("input", "%v", err)
		return c
	}
	c.input = json.RawMessage(text)
	return c
}

func (r *Rehearsal) failure(rd *reader) error {
	v := rd.get("error")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v != lua.LNil {
			rd.mustBe("error", "a table {status, type, message, retry_after}", v)
		}
		return nil
	}
	e := &reader{s: r.s, t: t, path: "error", at: rd.at, found: rd.found}
	out := &model.Error{Status: e.count("status"), Type: e.text("type"), Message: e.text("message"),
		Retry: e.seconds("retry_after")}
	e.finish()
	return out
}

// stream makes the answer a reply.
func (a answer) stream(req model.Request) model.Stream {
	reply := model.Reply{ID: "msg_" + digest(req.Meta, -1), Model: req.Model, Complete: true, StopReason: "end_turn"}
	st := &rehearsed{}
	add := func(kind model.DeltaKind, shown string, block map[string]any) {
		raw, _ := json.Marshal(block) // texts and valid raw JSON always marshal
		reply.Content = append(reply.Content, raw)
		i := len(reply.Content) - 1
		st.deltas = append(st.deltas, model.Delta{Kind: kind, Index: i, Text: shown}, model.Delta{Kind: model.BlockDone, Index: i})
		reply.Usage.Output += int64(len(raw)/4 + 1)
	}
	if a.thinking != "" {
		add(model.ThinkingDelta, a.thinking, map[string]any{"type": "thinking", "thinking": a.thinking, "signature": "rehearsed"})
	}
	if a.text != "" {
		add(model.TextDelta, a.text, map[string]any{"type": "text", "text": a.text})
	}
	for i, c := range a.calls {
		reply.StopReason = "tool_use"
		add(model.ToolStart, c.tool, map[string]any{"type": "tool_use", "id": "toolu_" + digest(req.Meta, i), "name": c.tool, "input": c.input})
	}
	if a.stop != "" {
		reply.StopReason = a.stop
	}
	reply.Usage.Input = int64(len(req.Body(true))/4 + 1)
	st.reply = reply
	return st
}

// digest makes ids that a second try of the same turn repeats.
func digest(m model.Meta, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", m.Session, m.Agent, m.Turn, n))
	return hex.EncodeToString(sum[:12])
}

// rehearsed is a reply that is there already.
type rehearsed struct {
	deltas []model.Delta
	reply  model.Reply
}

func (st *rehearsed) Recv() (model.Delta, error) {
	if len(st.deltas) == 0 {
		return model.Delta{}, io.EOF
	}
	d := st.deltas[0]
	st.deltas = st.deltas[1:]
	return d, nil
}

func (st *rehearsed) Reply() model.Reply { return st.reply }
func (st *rehearsed) Close() error       { return nil }
