package engine_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/store"
)

func toolOf(name, schema string) tool.Tool {
	return tool.Func{Def: tool.Definition{Name: name, Schema: json.RawMessage(schema)},
		Call: func(context.Context, tool.Call) tool.Result { return tool.TextResult("") }}
}

// noDefinition is a tool that only works when it is made properly.
type noDefinition struct{ def *tool.Definition }

func (n noDefinition) Definition() tool.Definition              { return *n.def }
func (noDefinition) Run(context.Context, tool.Call) tool.Result { return tool.Result{} }

var badTools = map[string]tool.Tool{
	"tools[1] is nil":                                    nil,
	"tools[1] has no definition: it panicked":            noDefinition{},
	`tools[1] is called "bad name!"`:                     toolOf("bad name!", `{"type":"object"}`),
	`tools[1] is called ""`:                              toolOf("", `{"type":"object"}`),
	"tools[1] (t) has no function to call":               tool.Func{Def: tool.Definition{Name: "t"}},
	"tools[1] (u) has a schema that is not of an object": toolOf("u", `{"type":"string"}`),
	"tools[1] (v) has a schema that is not of an object": toolOf("v", `[]`),
	"tools[1] (w) has a schema that is not of an object": toolOf("w", `nonsense`),
}

func TestChecks_New_names_what_cannot_work_in_a_config(t *testing.T) {
	good := toolOf("good", `{"type":"object"}`)
	cases := map[string]engine.Config{
		"Config.Tools[0] and [1] are both called good": {Tools: []tool.Tool{good, good}},
		`Config.Own[0] is "rel"`:                       {Own: []string{"rel"}},
		"Config.Endpoint is not":                       {Endpoint: "::nope"},
		"Config.Endpoint is not an http":               {Endpoint: "ftp://example.org"},
	}
	for want, bad := range badTools {
		cases["Config.T"+want[1:]] = engine.Config{Tools: []tool.Tool{good, bad}}
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for want, c := range cases {
		c.Workspace, c.Store, c.Harness = t.TempDir(), db, &script{}
		if _, err := engine.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if _, err := engine.Compile(c, engine.Spec{Name: "x"}, "go"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile: want %q: %v", want, err)
		}
	}
}

func TestChecks_a_spec_is_refused_before_its_agent_runs(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]engine.Spec{
		"guards[1] is nil":              {Guards: []guard.Guard{guard.Before("fine", nil), nil}},
		"max_budget_usd is NaN":         {MaxBudgetUSD: math.NaN()},
		"max_budget_usd is +Inf":        {MaxBudgetUSD: math.Inf(1)},
		"add_dirs[0]: stat ":            {AddDirs: []string{"nope"}},
		"add_dirs[1]: file is not a fo": {AddDirs: []string{b.dir, "file"}},
	}
	for want, bad := range badTools {
		cases[want] = engine.Spec{Tools: []tool.Tool{toolOf("good", ""), bad}}
	}
	p := b.start()
	for want, s := range cases {
		s.Name = "x"
		if err := p.Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if _, err := p.Run(t.Context(), s, "go", engine.RunOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: want %q: %v", want, err)
		}
	}
	if p.script.labels() != "" {
		t.Errorf("ran %s", p.script.labels())
	}
}

func TestChecks_what_is_nil_is_an_error_and_no_panic(t *testing.T) {
	p := newBench(t).start()
	var none context.Context
	for name, call := range map[string]func() error{
		"workflow is nil": func() error {
			_, err := p.RunWorkflow(t.Context(), nil, engine.WorkflowOptions{})
			return err
		},
		"context.Context is nil": func() error {
			_, err := p.Run(none, engine.Spec{Name: "x"}, "go", engine.RunOptions{})
			return err
		},
		"the context.Context is nil": func() error {
			_, err := p.RunWorkflow(none, flow(step("A")), engine.WorkflowOptions{})
			return err
		},
		"the workflow is nil": func() error {
			_, err := p.Replay(t.Context(), nil, engine.ReplayOptions{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
}
