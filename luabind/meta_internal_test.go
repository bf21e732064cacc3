package luabind

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/model"
)

func readMeta(t *testing.T) *annotations {
	t.Helper()
	a, err := readAnnotations(func(path, source string) {
		if _, err := compile(path, source); err != nil {
			t.Error(err)
		}
		module := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "meta/"), ".lua"), "/", ".")
		if first, _, _ := strings.Cut(source, "\n"); first != "---@meta "+module {
			t.Errorf("%s begins with %q", path, first)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// same compares what is annotated with what is there.
func same(t *testing.T, what string, annotated, there []string) {
	t.Helper()
	annotated, there = slices.Compact(slices.Sorted(slices.Values(annotated))), slices.Compact(slices.Sorted(slices.Values(there)))
	if len(there) == 0 {
		t.Errorf("%s: nothing is there to compare with", what)
	}
	for _, name := range there {
		if !slices.Contains(annotated, name) {
			t.Errorf("%s: stdlib/meta lacks %s", what, name)
		}
	}
	for _, name := range annotated {
		if !slices.Contains(there, name) {
			t.Errorf("%s: stdlib/meta has %s, which there is not", what, name)
		}
	}
}

func metaState(t *testing.T) *state {
	t.Helper()
	p, err := Load("meta.lua", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.newState(benchRuntime(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// keys are the names in a table.
func keys(t *testing.T, s *state, v lua.LValue) (names []string) {
	t.Helper()
	table, ok := v.(*lua.LTable)
	if !ok {
		t.Fatalf("a %s is no table", v.Type())
	}
	s.fill(table)
	table.ForEach(func(k, _ lua.LValue) { names = append(names, k.String()) })
	return names
}

func TestMeta_names_what_is_registered(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	flower := behind(s.loaded["flower"])
	var functions, values []string
	flower.ForEach(func(k, v lua.LValue) {
		if v.Type() == lua.LTFunction {
			functions = append(functions, k.String())
		} else {
			values = append(values, k.String())
		}
	})
	same(t, "functions of flower", a.functions["flower"], functions)
	same(t, "values of flower", sortedKeys(a.of("flower")), append(values, "test")) // which files of tests have
	for _, name := range []string{"fs", "json", "document"} {
		same(t, "flower."+name, a.functions[name], keys(t, s, behind(flower.RawGetString(name))))
	}
	for _, name := range []string{"clarify", "goal", "starter"} {
		out, err := s.eval(t, `return require("flower.`+name+`")`, 1)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "flower."+name, slices.Concat(a.functions[name], sortedKeys(a.of("flower."+name))), keys(t, s, out[0]))
	}
}

// literalKeys are the keys of the map literals in a function of this package: what
// handles have stands nowhere else.
func literalKeys(t *testing.T, file, function string) (names []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncDecl); ok {
			return fn.Name.Name == function
		}
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.BasicLit); ok && key.Kind == token.STRING {
				name, _ := strconv.Unquote(key.Value) // the parser has read it
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

func TestMeta_names_what_handles_have(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	runtime := slices.Concat(a.functions["Runtime"], sortedKeys(a.of("flower.Runtime")))
	same(t, "runtime", runtime, literalKeys(t, "handle.go", "openHandles"))
	same(t, "channel", a.functions["Channel"], literalKeys(t, "channel.go", "openHuman"))
	for handle, names := range map[string][]string{"flower.runtime": runtime, "flower.channel{}": a.functions["Channel"]} {
		for _, name := range names {
			if _, err := s.eval(t, "local h = "+handle+" assert(h."+name+" ~= nil)", 0); err != nil {
				t.Error(err)
			}
		}
	}
}

// noField is a name that no table has, and that is near to none.
const noField = "zzzzzzzzzzzz"

// fieldsIn are the names that a reader lists when it meets noField.
var fieldsIn = regexp.MustCompile(noField + `: is not a field; it has ([\w, ]+)`)

func listed(t *testing.T, message string) []string {
	t.Helper()
	m := fieldsIn.FindStringSubmatch(message)
	if m == nil {
		t.Fatalf("no fields are listed in %s", message)
	}
	return strings.Split(m[1], ", ")
}

// constructed are the classes of the tables that constructors take.
var constructed = map[string]string{
	"agent": "flower.AgentFields", "coordinator": "flower.CoordinatorFields", "clarifier": "flower.ClarifierFields",
	"judge": "flower.JudgeFields", "oracle": "flower.OracleFields", "worker": "flower.WorkerFields", "guard": "flower.GuardFields", "tool": "flower.ToolFields",
	"step": "flower.StepFields", "workflow": "flower.WorkflowFields",
}

// mistakes are what the readers find in a table for a constructor.
func (s *state) mistakes(t *testing.T, role string, fields map[string]lua.LValue) string {
	t.Helper()
	table := s.L.NewTable()
	for name, value := range fields {
		table.RawSetString(name, value)
	}
	m := &made{kind: constructors[role], role: role, at: &position{file: "meta.lua"}}
	s.kinds[table] = m
	var found []Mistake
	if m.kind == "workflow" {
		_, err := s.toWorkflow(table)
		if err == nil {
			t.Fatalf("nothing is wrong with %v", fields)
		}
		return err.Error()
	}
	s.readMade(table, m, &found)
	return newMistakes(found).Error()
}

func TestMeta_has_the_fields_of_constructors(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	same(t, "constructors", sortedKeys(constructed), sortedKeys(constructors))
	missing := regexp.MustCompile(`(\w+): is missing`)
	for role, class := range constructed {
		fields := a.of(class)
		text := s.mistakes(t, role, map[string]lua.LValue{noField: lua.LTrue})
		same(t, role, sortedKeys(fields), listed(t, text))

		var needed, required []string
		for name, f := range fields {
			if !f.optional {
				needed = append(needed, name)
			}
		}
		for _, m := range missing.FindAllStringSubmatch(text, -1) {
			required = append(required, m[1])
		}
		if len(needed)+len(required) > 0 {
			same(t, role+" needs", needed, required)
		}
	}
}

// typeWords are the readers' words for types, and how an annotation begins that
// means the same.
var typeWords = []struct{ reader, annotation string }{
	{"a string or a function of ctx", "flower.Prompt"},
	{"a string", "string "}, {"a string", "flower.Effort"}, {"a string", "flower.PermissionMode"}, {"a string", `"`},
	{"true or false", "boolean "}, {"a whole number", "integer "}, {"a number", "number "}, {"a function", "fun("},
	{"a list of strings", "string[] "}, {"a list of strings", "string|string[] "},
	{"a table of strings", "table<string, string> "}, {"a table", "table<string, any> "},
	{"a table of servers by name", "table<string, flower.MCPServer>"}, {"a table of flower.worker{…} by name", "table<string, flower.Worker>"},
	{"a list of flower.guard{…}", "flower.Guard[]"}, {"a list of flower.tool{…}", "flower.Tool[]"}, {"a table of types by name", "table<string, flower.InputField"}, {"a list of flower.step{…}", "(flower.Step|flower.Parallel)[]"},
	{"a flower.agent{…}", "flower.Agent"}, {"what flower.channel{…} gave", "flower.Channel"},
	{"what flower.workbench() gave", "flower.Workbench"}, {"a mode or a table {mode, window}", "flower.CompactMode|flower.Compact "},
}

func TestMeta_has_the_types_of_fields(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	for role, class := range constructed {
		for name, f := range a.of(class) {
			text := s.mistakes(t, role, map[string]lua.LValue{name: s.L.NewUserData()})
			m := regexp.MustCompile(`\b` + name + `: must be (.+?), (?:is a userdata|but it is)`).FindStringSubmatch(text)
			if m == nil {
				t.Errorf("%s.%s takes anything:\n%s", role, name, text)
				continue
			}
			agrees := false
			for _, w := range typeWords {
				agrees = agrees || m[1] == w.reader && strings.HasPrefix(f.kind+" ", w.annotation)
			}
			if !agrees {
				t.Errorf("%s.%s must be %s; stdlib/meta says %s", role, name, m[1], f.kind)
			}
		}
	}
}

func TestMeta_has_the_fields_of_options(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	s.L.SetGlobal("emit", s.emitFunction(func(event.Event) {}))
	for class, call := range map[string]string{
		"flower.CommandOptions":  `flower.sh("true", X)`,
		"flower.ChannelFields":   `flower.channel(X)`,
		"flower.WorkbenchFields": `X.make = false flower.workbench(X)`,
		"flower.RunOptions":      `flower.runtime:run(flower.agent{ name = "a" }, "p", X)`,
		"flower.Event":           `emit(X)`,
		"flower.MCPServer":       `flower.runtime:run(flower.agent{ name = "a", mcp_servers = { m = X } }, "p")`,
	} {
		_, err := s.eval(t, "local X = { "+noField+" = true } "+call, 0)
		if err == nil {
			t.Fatalf("%s takes any field", call)
		}
		same(t, class, sortedKeys(a.of(class)), listed(t, err.Error()))
	}
}

func TestMeta_has_the_options_of_the_modules(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	for class, call := range map[string]string{
		"flower.ClarifyFields":  `require("flower.clarify").clarify_step{ X, channel = 1, brief_path = "b", prompt = "p" }`,
		"flower.GoalFields":     `require("flower.goal").goal_step{ X, goal_path = "g" }`,
		"flower.WithGoalFields": `require("flower.goal").with_goal({}, { X, goal_path = "g" })`,
		"flower.StarterFields":  `require("flower.starter").starter{ X }`,
	} {
		_, err := s.eval(t, strings.ReplaceAll(call, "X", noField+" = true"), 0)
		if err == nil {
			t.Fatalf("%s takes any field", call)
		}
		same(t, class, sortedKeys(a.of(class)), listed(t, err.Error()))
	}
}

func TestMeta_has_what_callbacks_are_given(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	result := s.resultTable(sampleResult())
	same(t, "result", sortedKeys(a.of("flower.Result")), keys(t, s, result))
	usage := result.RawGetString("usage").(*lua.LTable)
	same(t, "usage", sortedKeys(a.of("flower.Usage")), keys(t, s, usage))
	main := usage.RawGetString("main").(*lua.LTable)
	same(t, "account", sortedKeys(a.of("flower.Account")), keys(t, s, main))
	same(t, "tokens", sortedKeys(a.of("flower.Tokens")), keys(t, s, main.RawGetString("tokens")))
	same(t, "call", sortedKeys(a.of("flower.Call")), keys(t, s, s.callTable(guard.Call{Input: json.RawMessage(`{}`)})))
	same(t, "ctx", sortedKeys(a.of("flower.Context")), []string{
		engine.KeyRuntime, engine.KeyOnEvent, engine.KeySessions, engine.KeyResults, engine.KeyLineage, engine.KeyWoke, engine.KeyAborted,
		engine.KeyFailedAt, engine.KeyBrief, engine.KeyBriefMissing, engine.KeyGoal, engine.KeyVerdict, engine.KeyGoalRounds,
	})
	for class, doc := range map[string]paper{
		"flower.Brief": document.Brief{}, "flower.Goal": document.Goal{}, "flower.Verdict": document.Verdict{}, "flower.Handoff": document.Handoff{},
	} {
		kind := document.Kind(strings.ToLower(strings.TrimPrefix(class, "flower.")))
		same(t, class, sortedKeys(a.of(class)), keys(t, s, s.docTable(kind, doc)))
	}
}

func TestMeta_has_what_a_guard_is_told_of_a_reply(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	out, err := s.eval(t, "return function(_, reply) seen = reply end", 1)
	if err != nil {
		t.Fatal(err)
	}
	g := &luaGuard{s: s, after: true, check: out[0].(*lua.LFunction)}
	s.serve(func() { _, err = g.After(context.Background(), guard.Call{}, guard.Reply{Value: "text"}) })
	if err != nil {
		t.Fatal(err)
	}
	same(t, "reply", sortedKeys(a.of("flower.Reply")), keys(t, s, s.L.GetGlobal("seen")))
}

func TestMeta_has_what_functions_return(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	for class, call := range map[string]string{
		"flower.Workbench":     "return flower.workbench()",
		"flower.System":        "return flower.system()",
		"flower.Lineage":       "return flower.lineage()",
		"flower.CommandResult": `return flower.sh("i=0; while [ $i -lt 9000 ]; do echo 12345; i=$((i+1)); done; kill -9 $$")`,
		"flower.Ending":        `return flower.run(flower.workflow{ steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p" } } })`,
		"flower.WakeState":     `local w = require("flower.starter").wake_state() w.brief, w.goal = {}, {} return w`,
		"flower.Error":         `local _, err = pcall(flower.sh) err._cause = nil return err`,
	} {
		out, err := s.eval(t, call, 1)
		if err != nil {
			t.Fatal(err)
		}
		there := keys(t, s, out[0])
		if class == "flower.Ending" && !slices.Contains(there, "cost_usd") {
			there = append(there, "cost_usd") // nobody knows the price here
		}
		same(t, class, sortedKeys(a.of(class)), there)
	}
}

func TestMeta_has_what_a_rehearsal_is_asked_and_answers(t *testing.T) {
	a, s := readMeta(t), metaState(t)
	r := &Rehearsal{program: s.program, s: s}
	turn := r.question(model.Request{Messages: []model.Message{{Role: "user", Content: []json.RawMessage{
		json.RawMessage(`{"type":"tool_use","id":"t1","name":"Read","input":{}}`),
		json.RawMessage(`{"type":"tool_result","tool_use_id":"t1","content":"text"}`),
	}}}})
	same(t, "turn", sortedKeys(a.of("flower.Turn")), keys(t, s, turn))
	message := turn.RawGetString("messages").(*lua.LTable).RawGetInt(1).(*lua.LTable)
	same(t, "message", sortedKeys(a.of("flower.Message")), keys(t, s, message))
	same(t, "call", sortedKeys(a.of("flower.MessageCall")), keys(t, s, message.RawGetString("calls").(*lua.LTable).RawGetInt(1)))
	same(t, "result", sortedKeys(a.of("flower.MessageResult")), keys(t, s, message.RawGetString("results").(*lua.LTable).RawGetInt(1)))

	for class, source := range map[string]string{
		"flower.Answer":       "{ X }",
		"flower.RequestError": "{ error = { X } }",
		"flower.ToolCall":     "{ calls = { { tool = 'a', X } } }",
	} {
		source = strings.ReplaceAll(source, "X", noField+" = true")
		out, err := s.eval(t, "local function f() end return f, "+source, 2)
		if err != nil {
			t.Fatal(err)
		}
		r.fn = out[0].(*lua.LFunction)
		_, err = r.answer(out[1])
		if err == nil {
			t.Fatalf("%s takes any field", class)
		}
		same(t, class, sortedKeys(a.of(class)), listed(t, err.Error()))
	}
}

// TestDocs_the_reference_names_everything that the annotations do, which are what
// there is.
func TestDocs_the_reference_names_everything(t *testing.T) {
	a := readMeta(t)
	raw, err := os.ReadFile("../docs/lua.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	calls := map[string]string{"flower": "flower.", "fs": "fs.", "json": "json.", "document": "document.", "clarify": "", "goal": "", "starter": "",
		"Runtime": "runtime:", "Channel": "channel:", "test": "test.", "it": "it.", "Script": ""}
	same(t, "tables with functions", sortedKeys(a.functions), sortedKeys(calls))
	for table, names := range a.functions {
		for _, name := range names {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(calls[table]+name) + `\b`).MatchString(text) {
				t.Errorf("docs/lua.md lacks %s%s", calls[table], name)
			}
		}
	}
	for class, fields := range a.fields {
		for name := range fields {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
				t.Errorf("docs/lua.md lacks %s of %s", name, class)
			}
		}
	}
}
