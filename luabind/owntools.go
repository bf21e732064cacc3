package luabind

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// inputTypes are the words for what a field of a tool's input holds.
var inputTypes = []string{"string", "integer", "number", "boolean", "array", "object"}

var ownToolName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// ownTool is a tool whose work a Lua function does.
type ownTool struct {
	s          *state
	definition tool.Definition
	required   []string
	call       *lua.LFunction
}

// readTools reads own_tools, a list of flower.tool{…}.
func (s *state) readTools(r *reader) []tool.Tool {
	v := r.get("own_tools")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v != lua.LNil {
			r.mustBe("own_tools", "a list of flower.tool{…}", v)
		}
		return nil
	}
	var tools []tool.Tool
	for i := 1; i <= t.Len(); i++ {
		item, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok || !s.isMade(item, "tool") {
			r.wrong("own_tools", "item %d is a %s; it must be a flower.tool{…}", i, s.describe(t.RawGetInt(i)))
			continue
		}
		if x := s.readTool(item, fmt.Sprintf("%s[%d]", r.fieldPath("own_tools"), i), r.found); x != nil {
			tools = append(tools, x)
		}
	}
	return tools
}

// offerOwn gives a spec the script's own tools. One that nobody may call is a mistake.
func (s *state) offerOwn(r *reader, spec *engine.Spec) {
	tools := s.readTools(r)
	named := slices.Clone(spec.AllowedTools)
	for _, w := range spec.Workers {
		named = append(named, w.Tools...)
	}
	for _, x := range tools {
		if name := x.Definition().Name; !slices.Contains(named, name) {
			r.wrong("own_tools", "holds %s, which neither allowed_tools nor the tools of a worker name", name)
		}
	}
	spec.Tools = append(spec.Tools, tools...)
}

func (s *state) readTool(t *lua.LTable, path string, found *[]Mistake) tool.Tool {
	before := len(*found)
	r := s.reader(s.L, t, path, found)
	x := &ownTool{s: s}
	if r.required("name", "a string") {
		x.definition.Name = r.text("name")
	}
	if r.required("description", "a string: what it does, and when to call it") {
		x.definition.Description = r.text("description")
	}
	if r.required("call", "a function of the input") {
		x.call = r.function("call")
	}
	x.definition.ReadOnly = r.boolean("read_only")
	x.definition.Schema, x.required = s.readInput(r)
	r.finish()
	name := x.definition.Name
	switch {
	case len(*found) > before:
		return nil
	case !ownToolName.MatchString(name) || strings.HasPrefix(name, "mcp__"):
		r.wrong("name", "is %q; it begins with a letter, has letters, digits, _ and -, 64 at most, and not mcp__ in front", clip(name))
		return nil
	case slices.Contains(tool.Builtin, name):
		r.wrong("name", "is %s, which is a tool that flower brings; take another name", name)
		return nil
	}
	return x
}

// readInput makes a JSON Schema of input: types by the fields' names.
func (s *state) readInput(r *reader) (schema json.RawMessage, required []string) {
	v := r.get("input")
	if _, ok := v.(*lua.LTable); !ok && v != lua.LNil {
		r.mustBe("input", "a table of types by name", v)
		return nil, nil
	}
	plain, err := s.fromValue(v)
	if err != nil {
		r.wrong("input", "%v", err)
		return nil, nil
	}
	fields, ok := plain.(map[string]any)
	if list, isList := plain.([]any); !ok && isList && len(list) > 0 {
		r.wrong("input", "must hold types by name, not a list")
	}
	properties := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, optional := inputField(r, name, fields[name])
		properties[name] = field
		if !optional {
			required = append(required, name)
		}
	}
	whole := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		whole["required"] = required
	}
	if schema, err = json.Marshal(whole); err != nil {
		r.wrong("input", "cannot be written as JSON: %v", err)
	}
	return schema, required
}

// inputField is one field: a type, with ? behind it where it may be left out, or a table
// {type, description, optional} that may hold more of JSON Schema.
func inputField(r *reader, name string, v any) (field map[string]any, optional bool) {
	path := "input." + clip(name)
	switch v := v.(type) {
	case string:
		kind, optional := strings.CutSuffix(v, "?")
		if !slices.Contains(inputTypes, kind) {
			r.wrong("input", "%s is %q; it must be one of %s%s", path, clip(v), quoteAll(inputTypes), spell.Hint(kind, inputTypes))
		}
		return map[string]any{"type": kind}, optional
	case map[string]any:
		field = maps.Clone(v)
		if _, set := v["optional"]; set {
			is, ok := v["optional"].(bool)
			if !ok {
				r.wrong("input", "%s.optional must be true or false", path)
			}
			optional = is
			delete(field, "optional")
		}
		if kind, ok := field["type"].(string); !ok || !slices.Contains(inputTypes, kind) {
			r.wrong("input", "%s.type must be one of %s", path, quoteAll(inputTypes))
		}
		return field, optional
	}
	r.wrong("input", "%s must be a type, such as \"string\", or a table with one", path)
	return nil, false
}

// Definition is what the model is told.
func (x *ownTool) Definition() tool.Definition { return x.definition }

// Run calls call(input, info). A text or other plain data is the result, nil and a
// text a failure, nothing a success without words.
func (x *ownTool) Run(ctx context.Context, c tool.Call) tool.Result {
	var input map[string]any
	if err := json.Unmarshal(c.Input, &input); err != nil {
		return tool.ErrorResult(fmt.Sprintf("The input of %s is not a JSON object. Correct it and call again.", x.definition.Name))
	}
	for _, name := range x.required {
		if input[name] == nil {
			return tool.ErrorResult(fmt.Sprintf("The input of %s lacks %s. Correct it and call again.", x.definition.Name, name))
		}
	}
	var result tool.Result
	err := x.s.callback(ctx, x.call, 2,
		func() []lua.LValue {
			info := x.s.L.NewTable()
			info.RawSetString("id", lua.LString(c.ID))
			info.RawSetString("agent", lua.LString(c.Agent))
			return []lua.LValue{x.s.toLua(input), info}
		},
		func(out []lua.LValue) (bad error) {
			result, bad = x.result(out)
			return bad
		})
	switch {
	case ctx.Err() != nil:
		return tool.ErrorResult(fmt.Sprintf("%s was stopped.", x.definition.Name))
	case err != nil:
		x.s.warn("tool "+x.definition.Name, err)
		return tool.ErrorResult(fmt.Sprintf("%s failed, which is no fault of yours: %v. Go on without it, or say in your reply that it does not work.", x.definition.Name, err))
	}
	return result
}

func (x *ownTool) result(out []lua.LValue) (tool.Result, error) {
	switch v := out[0].(type) {
	case *lua.LNilType:
		if why, ok := out[1].(lua.LString); ok {
			return tool.ErrorResult(string(why)), nil
		}
		if out[1] == lua.LNil {
			return tool.TextResult("done"), nil
		}
	case lua.LString:
		return tool.TextResult(string(v)), nil
	case lua.LNumber, lua.LBool:
		return tool.TextResult(v.String()), nil
	case *lua.LTable:
		text, err := x.s.encodeJSON(v, false)
		if err == nil {
			return tool.TextResult(text), nil
		}
	}
	return tool.Result{}, x.s.badReturn(x.call, "a tool", "a text or plain data, or nil and a message", out...)
}
