package engine_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/plugin"
	"github.com/flowerlua/flower/engine/tool"
)

func (b *bench) write(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// demo is a plugin of a workspace.
func demo(folder string) map[string]string {
	return map[string]string{
		folder + "/.claude-plugin/plugin.json": `{"name": "demo"}`,
		folder + "/agents/helper.md":           "---\ndescription: Helps.\ntools: Read, Bash, Bash(git:*), mcp__human__ask, mcp__plugin_demo_db__drop, mcp__plugin_demo_db__query\nskills: [lint]\nmodel: haiku\n---\nYou help.",
		folder + "/agents/plain.md":            "---\ndescription: Plain.\ndisallowedTools: Bash\n---\nYou are plain.",
		folder + "/agents/none.md":             "---\ndescription: None.\ntools: LS\n---\nYou do nothing.",
		folder + "/skills/lint/SKILL.md":       "---\ndescription: Lints.\n---\nLint it.",
		folder + "/skills/ship/SKILL.md":       "---\ndescription: Ships.\n---\nShip it.",
		folder + "/hooks/hooks.json":           "{}",
		folder + "/.mcp.json": `{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db"}, "web": {"url": "http://localhost:1/mcp"},
			"key": {"url": "http://localhost:1/${KEY}"}, "a__b": {"command": "x"}}}`,
	}
}

func names[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

func TestPlugins_bring_what_a_spec_names_and_nothing_else(t *testing.T) {
	b := newBench(t)
	b.write(demo("plugin"))
	p := b.start()
	worker := func(tools, skills []string) map[string]harness.Worker {
		return map[string]harness.Worker{"own": {Description: "d", Prompt: "p", Tools: tools, Skills: skills}}
	}
	for name, c := range map[string]struct {
		spec                     engine.Spec
		workers, servers, skills string
	}{
		"a reader":                      {spec: engine.Spec{}},
		"who dispatches":                {spec: engine.Spec{AllowedTools: []string{"Agent"}}, workers: "demo:helper demo:plain", skills: "demo:lint demo:ship"},
		"a coordinator":                 {spec: engine.Coordinator("lead", worker(nil, nil), engine.RoleOptions{}), workers: "demo:helper demo:plain own", skills: "demo:lint demo:ship"},
		"who may not dispatch":          {spec: engine.Spec{AllowedTools: []string{"Agent"}, DisallowedTools: []string{"Agent"}}},
		"who reads skills":              {spec: engine.Spec{AllowedTools: []string{"Skill"}}, skills: "demo:lint demo:ship"},
		"who calls a server":            {spec: engine.Spec{AllowedTools: []string{"mcp__plugin_demo_db__query"}}, servers: "plugin_demo_db", skills: "demo:lint demo:ship"},
		"whose worker calls a server":   {spec: engine.Spec{Workers: worker([]string{"mcp__plugin_demo_web__get"}, nil)}, servers: "plugin_demo_web", workers: "own", skills: "demo:lint demo:ship"},
		"whose worker reads skills":     {spec: engine.Spec{Workers: worker(nil, []string{"lint"})}, workers: "own", skills: "demo:lint demo:ship"},
		"who wants no plugin":           {spec: engine.Spec{AllowedTools: []string{"Agent"}, Plugins: []string{}}},
		"who names it":                  {spec: engine.Spec{Plugins: []string{"plugin"}}, skills: "demo:lint demo:ship"},
		"who has a server of that name": {spec: engine.Spec{AllowedTools: []string{"mcp__plugin_demo_db__query"}, MCPServers: map[string]harness.MCPServer{"plugin_demo_db": {Command: "mine"}}}, servers: "plugin_demo_db", skills: "demo:lint demo:ship"},
	} {
		c.spec.Name = "s"
		a, err := p.Compile(c.spec)
		var skills []string
		for _, s := range a.Skills {
			skills = append(skills, s.Name)
		}
		if err != nil || names(a.Workers) != c.workers || names(a.MCPServers) != c.servers || strings.Join(skills, " ") != c.skills {
			t.Errorf("%s: workers %q, servers %q, skills %q, %v", name, names(a.Workers), names(a.MCPServers), skills, err)
		}
		if own, ok := c.spec.MCPServers["plugin_demo_db"]; ok && a.MCPServers["plugin_demo_db"].Command != own.Command {
			t.Errorf("%s: the script's own server is not taken", name)
		}
	}
}

func TestPlugins_what_their_agents_may_call(t *testing.T) {
	b := newBench(t)
	b.write(demo("plugin"))
	p := b.start(answer{}, answer{})
	spec := engine.Spec{Name: "s", AllowedTools: []string{"Agent", "mcp__plugin_demo_db__query"}}
	a, err := p.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	helper, plain := a.Workers["demo:helper"], a.Workers["demo:plain"]
	if got := strings.Join(helper.Tools, " "); got != "Read Bash mcp__plugin_demo_db__query Skill" || helper.Model != "haiku" || helper.Prompt != "You help." ||
		strings.Join(helper.Skills, " ") != "demo:lint" {
		t.Errorf("%+v", helper)
	}
	if got := strings.Join(plain.Tools, " "); got != "Read Write Edit Glob Grep WebFetch WebSearch" || len(plain.Skills) != 0 {
		t.Errorf("%+v", plain)
	}
	if db := a.MCPServers["plugin_demo_db"]; db.Command != filepath.Join(b.dir, "plugin", "db") {
		t.Errorf("%+v", db)
	}
	// What is not used is said once.
	for range 2 {
		if _, err := p.Run(context.Background(), spec, "go", engine.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p.close()
	var told []string
	for _, e := range p.seen.of(event.System) {
		told = append(told, e.Text)
	}
	text := strings.Join(told, "\n")
	for _, want := range []string{"plugin demo: hooks in it are not used", "plugin demo: agent helper: it may not call Bash(git:*), mcp__human__ask, mcp__plugin_demo_db__drop",
		"plugin demo: agent none: it is left out", "server key cannot be used: only ${CLAUDE_PLUGIN_ROOT} is filled in"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, text)
		}
	}
}

func TestPlugins_a_workers_skills_get_whole_names(t *testing.T) {
	b := newBench(t)
	b.write(demo("plugin"))
	p := b.start()
	spec := engine.Spec{Name: "s", Workers: map[string]harness.Worker{"own": engine.NewWorker("d", "p", engine.WorkerOptions{Skills: []string{"lint", "demo:ship"}})}}
	a, err := p.Compile(spec)
	if w := a.Workers["own"]; err != nil || strings.Join(w.Skills, " ") != "demo:lint demo:ship" || !slices.Contains(w.Tools, tool.SkillTool) {
		t.Errorf("%+v, %v", w, err)
	}
	if slices.Contains(spec.Workers["own"].Tools, tool.SkillTool) {
		t.Error("the spec itself was changed")
	}
	spec.Workers["own"] = engine.NewWorker("d", "p", engine.WorkerOptions{Skills: []string{"lnit"}})
	if err := p.Check(spec); err == nil || !strings.Contains(err.Error(), `spec s: workers.own.skills cannot be read: there is no skill "lnit"`) {
		t.Errorf("err = %v", err)
	}
}

func TestPlugins_what_is_wrong_is_found_before_anything_runs(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		spec  engine.Spec
		want  string
	}{
		"a file":          {map[string]string{"plugin/agents/a.md": "---\nname: a\n"}, engine.Spec{AllowedTools: []string{"Agent"}}, "a.md:1: the front matter has no end"},
		"no folder":       {nil, engine.Spec{Plugins: []string{"plugn"}}, "plugn: there is no folder"},
		"two of one name": {demo("b"), engine.Spec{Plugins: []string{"plugin", "b"}}, `plugin b is called "demo", as plugin is`},
		"a server":        {nil, engine.Spec{AllowedTools: []string{"mcp__plugin_demo_key__get"}}, "MCP server key: only ${CLAUDE_PLUGIN_ROOT} is filled in, and it has ${KEY}"},
		"a server's name": {nil, engine.Spec{AllowedTools: []string{"mcp__plugin_demo_a__b__get"}}, "MCP server a__b"},
		"many":            {nil, engine.Spec{Plugins: slices.Repeat([]string{"plugin"}, 21)}, "20 are the most"},
	} {
		b := newBench(t)
		b.write(demo("plugin"))
		b.write(c.files)
		p := b.start()
		w := flow(step("first"), step("second"))
		c.spec.Name = "s"
		w.Steps[1].Spec = c.spec
		_, err := p.RunWorkflow(context.Background(), w, engine.WorkflowOptions{})
		if err == nil || !strings.Contains(err.Error(), "step second: spec s: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(p.script.orders()); n != 0 {
			t.Errorf("%s: %d turns were ordered", name, n)
		}
	}
}

func TestPlugins_of_the_runtime_and_of_a_workflow(t *testing.T) {
	b := newBench(t)
	b.write(map[string]string{"plugin/skills/a/SKILL.md": "---\ndescription: d\n---\nx", "of/runtime/skills/b/SKILL.md": "---\ndescription: d\n---\nx",
		"of/flow/skills/c/SKILL.md": "---\ndescription: d\n---\nx", "own/skills/d/SKILL.md": "---\ndescription: d\n---\nx"})
	var got []string
	look := answer{do: func(_ context.Context, t harness.Turn) {
		for _, s := range t.Agent.Skills {
			got = append(got, s.Name)
		}
	}}
	p := b.startWith(engine.Config{Plugins: []string{"of/runtime"}}, look, look, look)
	w := flow(step("first"), step("second"))
	w.Plugins = []string{"of/flow"}
	for i := range w.Steps {
		w.Steps[i].Spec.AllowedTools = []string{"Skill"}
	}
	w.Steps[1].Spec.Plugins = []string{"own"}
	if _, err := p.Run(context.Background(), w.Steps[0].Spec, "go", engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	p.run(t, w, engine.WorkflowOptions{})
	if text := strings.Join(got, " "); text != "runtime:b flow:c own:d" {
		t.Errorf("skills %q", text)
	}
	p.close()
	if _, err := engine.New(engine.Config{Workspace: b.dir, Store: p.Store(), Harness: p.script, Plugins: []string{"none"}}); !errors.Is(err, plugin.ErrNone) || !strings.Contains(err.Error(), "Config.Plugins") {
		t.Errorf("err = %v", err)
	}
}

func TestPlugins_are_read_once(t *testing.T) {
	b := newBench(t)
	b.write(demo("plugin"))
	p := b.start()
	spec := engine.Spec{Name: "s", AllowedTools: []string{"Skill"}}
	if err := p.Check(spec); err != nil {
		t.Fatal(err)
	}
	b.write(map[string]string{"plugin/skills/lint/SKILL.md": "An agent was here."})
	a, err := p.Compile(spec)
	if err != nil || a.Skills[0].Text != "Lint it." {
		t.Errorf("%+v, %v", a.Skills, err)
	}
	p.close()
	if err := b.start().Check(spec); err == nil {
		t.Error("the next run does not see the change")
	}
}
