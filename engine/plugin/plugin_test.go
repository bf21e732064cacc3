package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/plugin"
)

// put writes files into a new folder of the given name and returns its path.
func put(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	outer, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outer, name)
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

var whole = map[string]string{
	".claude-plugin/plugin.json": `{"name": "demo", "version": "1.2", "description": "Shows it.", "hooks": "./hooks.json", "author": {"name": "A"}}`,
	"agents/helper.md":           "---\nname: helper\ndescription: >\n  Helps with\n  things.\ntools: Read, Bash(git add:*, git commit:*), mcp__plugin_demo_db__query\ndisallowedTools: [Write]\nmodel: inherit\ncolor: red\nmaxTurns: 3\neffort: low\nmemory: user\n---\n\nYou help. See ${CLAUDE_PLUGIN_ROOT}/notes.\n",
	"agents/README.md":           "Agents are here.\n",
	"agents/empty.txt":           "",
	"skills/release/SKILL.md":    "---\r\nname: release\r\ndescription: 'How a release is made: step by step.'\r\nlicense: MIT\r\n---\r\nRun ${CLAUDE_PLUGIN_ROOT}/skills/release/run.sh.\r\n",
	"skills/release/run.sh":      "echo",
	"skills/lint/SKILL.md":       "---\ndescription: Lints.\n---\nLint it.",
	"skills/notes.txt":           "",
	"hooks/hooks.json":           "{}",
	"commands/go.md":             "Go.",
	".mcp.json": `{"mcpServers": {
		"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["--dir", "${CLAUDE_PLUGIN_ROOT}"], "env": {"A": "b"}, "timeout": 5},
		"web": {"type": "http", "url": "http://localhost:1/mcp", "headers": {"X": "y"}},
		"secret": {"type": "http", "url": "http://localhost:1/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
		"old": {"type": "sse", "url": "http://localhost:1"}}}`,
}

func TestLoad_reads_what_a_plugin_brings(t *testing.T) {
	dir := put(t, "whole", whole)
	p, err := plugin.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "demo" || p.Version != "1.2" || p.Description != "Shows it." || p.Dir != dir {
		t.Errorf("%+v", p)
	}
	if len(p.Agents) != 1 || len(p.Skills) != 2 || len(p.Servers) != 4 {
		t.Fatalf("%d agents, %d skills, %d servers", len(p.Agents), len(p.Skills), len(p.Servers))
	}
	a := p.Agents[0]
	if a.Name != "helper" || a.Description != "Helps with things." || a.Prompt != "You help. See "+dir+"/notes." || a.Model != "" || a.File != "agents/helper.md" || a.MaxTurns != 3 || a.Effort != "low" ||
		strings.Join(a.Tools, "|") != "Read|Bash(git add:*, git commit:*)|mcp__plugin_demo_db__query" || strings.Join(a.Barred, "|") != "Write" {
		t.Errorf("%+v", a)
	}
	lint, release := p.Skills[0], p.Skills[1]
	if lint.Name != "lint" || lint.Text != "Lint it." || release.Name != "release" || release.Description != "How a release is made: step by step." ||
		release.Text != "Run "+dir+"/skills/release/run.sh." || release.Dir != filepath.Join(dir, "skills", "release") {
		t.Errorf("%+v, %+v", lint, release)
	}
	db, web := p.Servers[0], p.Servers[3]
	if db.Name != "db" || db.Command != dir+"/db" || strings.Join(db.Args, " ") != "--dir "+dir || db.Env["A"] != "b" || db.Env[plugin.Root] != dir || db.Problem != "" {
		t.Errorf("%+v", db)
	}
	if web.Name != "web" || web.URL != "http://localhost:1/mcp" || web.Headers["X"] != "y" || len(web.Env) != 0 || web.Problem != "" {
		t.Errorf("%+v", web)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{"plugin.json: hooks is not used", "agents/README.md has no front matter", "agents/helper.md: memory is not used",
		`server db: "timeout" is not used`, "server secret cannot be used: only ${CLAUDE_PLUGIN_ROOT} is filled in, and it has ${TOKEN}",
		`server old cannot be used: type is "sse"`, "hooks, commands in it are not used"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in:\n%s", want, notes)
		}
	}
	if len(p.Notes) != 7 {
		t.Errorf("notes:\n%s", notes)
	}
}

func TestLoad_without_a_manifest_takes_the_folders_name(t *testing.T) {
	p, err := plugin.Load(put(t, "bare", map[string]string{".mcp.json": `{"db": {"command": "x"}}`}))
	if err != nil || p.Name != "bare" || len(p.Servers) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := plugin.Load(put(t, "not a name", map[string]string{"x": ""})); err == nil || !strings.Contains(err.Error(), "plugin.json") {
		t.Errorf("err = %v", err)
	}
}

func TestLoad_says_in_which_file_and_line_something_is_wrong(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"manifest, syntax":        {".claude-plugin/plugin.json", "{\n\"name\": \"x\",\n}", "plugin.json:3: it is no JSON"},
		"manifest, two":           {".claude-plugin/plugin.json", "{}\n{}", "plugin.json:2: there is something behind"},
		"manifest, cut":           {".claude-plugin/plugin.json", "{\n\"name\":", "plugin.json:2: it is no JSON"},
		"manifest, list":          {".claude-plugin/plugin.json", "[]", "plugin.json:1: it must be an object, is a array"},
		"manifest, name":          {".claude-plugin/plugin.json", "{\n\"name\": \"a b\"}", `plugin.json:2: name is "a b"`},
		"manifest, version":       {".claude-plugin/plugin.json", "{\n\n\"version\": 3}", "plugin.json:3: version must be a text"},
		"agent, no end":           {"agents/a.md", "---\nname: a\n", "a.md:1: the front matter has no end"},
		"agent, YAML":             {"agents/a.md", "---\nname: a\ndescription: use it: always\n---\nx", "a.md:3: the front matter is no YAML (a text with a colon in it wants quotes): mapping values are not allowed"},
		"agent, list":             {"agents/a.md", "---\n- a\n---\nx", "a.md:2: the front matter holds no fields"},
		"agent, twice":            {"agents/a.md", "---\nname: a\nname: b\ndescription: d\n---\nx", "a.md:3:"},
		"agent, name":             {"agents/a.md", "---\n\nname: a b\ndescription: d\n---\nx", `a.md:3: name is "a b"`},
		"agent, no description":   {"agents/a.md", "---\nname: a\n---\nx", "a.md:1: description is missing"},
		"agent, description":      {"agents/a.md", "---\nname: a\ndescription: [d]\n---\nx", "a.md:3: description must be a text"},
		"agent, tools":            {"agents/a.md", "---\ndescription: d\ntools:\n - Read\n - {a: b}\n---\nx", "a.md:5: tools must be a list of texts"},
		"agent, turns":            {"agents/a.md", "---\ndescription: d\nmaxTurns: many\n---\nx", "a.md:3: maxTurns must be a whole number above 0"},
		"agent, no prompt":        {"agents/a.md", "---\ndescription: d\n---\n \n", "a.md: there is nothing behind the front matter"},
		"agent, long":             {"agents/a.md", "---\ndescription: " + strings.Repeat("x", plugin.MaxDescription+1) + "\n---\nx", "a.md:2: description has more than 4000"},
		"agent, huge":             {"agents/a.md", strings.Repeat("x", plugin.MaxFile+1), "a.md: it has more than 262144 bytes"},
		"agent, bytes":            {"agents/a.md", "---\ndescription: \xff\n---\nx", "a.md: it is not UTF-8"},
		"skill, no front matter":  {"skills/s/SKILL.md", "Do it.", "SKILL.md:1: it has no front matter"},
		"skill, empty":            {"skills/s/SKILL.md", "---\ndescription: d\n---\n", "there is nothing behind"},
		"servers, list":           {".mcp.json", `{"mcpServers": []}`, ".mcp.json:1: mcpServers must be an object"},
		"servers, args":           {".mcp.json", "{\n\"db\": {\"command\": \"x\", \"args\": \"y\"}}", ".mcp.json:2: server db: cannot unmarshal string"},
		"servers, an unknown and": {".mcp.json", "{\n\"db\": {\"more\": 1, \"command\": 2}}", ".mcp.json:2: server db: cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, "bad", map[string]string{c.file: c.text})
			_, err := plugin.Load(dir)
			var wrong *plugin.FileError
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &wrong) || !strings.HasPrefix(wrong.File, dir) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestLoad_tells_everything_that_is_wrong_at_once(t *testing.T) {
	dir := put(t, "bad", map[string]string{
		"agents/a.md": "---\nname: same\ndescription: d\n---\nx", "agents/b.md": "---\nname: same\ndescription: d\n---\nx",
		"skills/a/SKILL.md": "---\nname: same\ndescription: d\n---\nx", "skills/b/SKILL.md": "---\nname: same\ndescription: d\n---\nx",
		".mcp.json": "{",
	})
	_, err := plugin.Load(dir)
	for _, want := range []string{`agents/b.md: its agent is called "same", as that of agents/a.md`, `skills/b/SKILL.md: its skill is called "same", as that of skills/a/SKILL.md`, ".mcp.json"} {
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestLoad_is_bounded(t *testing.T) {
	files := map[string]string{}
	for i := range plugin.MaxSkills + 1 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = "---\ndescription: d\n---\nx"
		files[fmt.Sprintf("agents/a%d.md", i)] = "---\ndescription: d\n---\nx"
	}
	servers := []string{}
	for i := range plugin.MaxServers + 1 {
		servers = append(servers, fmt.Sprintf(`"s%d": {"command": "x"}`, i))
	}
	files[".mcp.json"] = "{" + strings.Join(servers, ",") + "}"
	_, err := plugin.Load(put(t, "many", files))
	for _, want := range []string{"more than 100 agents", "more than 100 skills", "more than 50 servers"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	crowd := map[string]string{}
	for i := range 1001 {
		crowd[fmt.Sprintf("agents/%d.txt", i)] = ""
	}
	if _, err := plugin.Load(put(t, "crowd", crowd)); err == nil || !strings.Contains(err.Error(), "more than 1000 entries") {
		t.Errorf("err = %v", err)
	}
}

func TestLoad_follows_no_link_out_of_the_folder(t *testing.T) {
	const agent = "---\nname: outside\ndescription: d\n---\nx"
	outside := put(t, "outside", map[string]string{"agents/a.md": agent, "a.md": agent, ".mcp.json": "{}"})
	dir := put(t, "demo", map[string]string{"agents/own.md": "---\ndescription: d\n---\nx", "shared/s/SKILL.md": "---\ndescription: d\n---\nx"})
	link(t, "shared", filepath.Join(dir, "skills")) // within: fine
	at, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Load(at)
	if err != nil || len(p.Skills) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	link(t, filepath.Join(outside, "a.md"), filepath.Join(dir, "agents", "a.md"))
	link(t, filepath.Join(outside, ".mcp.json"), filepath.Join(dir, ".mcp.json"))
	_, err = plugin.Load(dir)
	for _, want := range []string{"a.md: it cannot be read (a link must not lead out of the plugin)", ".mcp.json: it cannot be read"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "agents")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(outside, "agents"), filepath.Join(dir, "agents"))
	if _, err := plugin.Load(dir); err == nil || !strings.Contains(err.Error(), "agents: it cannot be read") {
		t.Errorf("err = %v", err)
	}
	// The folder itself may be a link.
	link(t, outside, filepath.Join(filepath.Dir(dir), "again"))
	if p, err := plugin.Load(filepath.Join(filepath.Dir(dir), "again")); err != nil || p.Dir != outside {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLoad_what_is_no_folder(t *testing.T) {
	dir := put(t, "demo", map[string]string{"file": "x"})
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "file")} {
		if _, err := plugin.Load(path); !errors.Is(err, plugin.ErrNone) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWithin_finds_the_plugin_of_a_repository(t *testing.T) {
	skill := map[string]string{"plugin/skills/s/SKILL.md": "---\ndescription: d\n---\nx"}
	outside := put(t, "outside", skill)
	for name, c := range map[string]struct {
		files map[string]string
		found bool
	}{
		"nothing":                      {map[string]string{"x": ""}, false},
		"a folder of other things":     {map[string]string{"plugin/main.go": "package plugin", "plugin/commands/a.md": "", "plugin/agents/notes.md": "Notes."}, false},
		"a file":                       {map[string]string{"plugin": ""}, false},
		"a plugin with a manifest":     {map[string]string{"plugin/.claude-plugin/plugin.json": "{}"}, true},
		"a plugin with a skill":        {skill, true},
		"a plugin with nothing but it": {map[string]string{"plugin/.mcp.json": `{"a": {"command": "x"}}`}, true},
	} {
		dir := put(t, "repo", c.files)
		p, found, err := plugin.Within(dir, "plugin")
		if err != nil || found != c.found || found && (p.Name != "plugin" || p.Dir != filepath.Join(dir, "plugin")) {
			t.Errorf("%s: %+v, %t, %v", name, p, found, err)
		}
	}
	dir := put(t, "repo", map[string]string{"x": ""})
	link(t, filepath.Join(outside, "plugin"), filepath.Join(dir, "plugin"))
	if _, found, err := plugin.Within(dir, "plugin"); err == nil || found || !strings.Contains(err.Error(), "must not lead out") {
		t.Errorf("a link to the host's: %t, %v", found, err)
	}
	if _, _, err := plugin.Within(filepath.Join(dir, "none"), "plugin"); err == nil {
		t.Error("a workspace that is not there")
	}
}

func TestLoad_gives_the_same_every_time(t *testing.T) {
	dir := put(t, "whole", whole)
	first, err := plugin.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := plugin.Load(dir)
		if err != nil || !slices.Equal(first.Notes, again.Notes) || fmt.Sprint(first) != fmt.Sprint(again) {
			t.Fatalf("%+v\n%+v, %v", first, again, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("---\nname: a\ndescription: d\n---\nx", `{"name": "x"}`)
	f.Add("---\na: &a [*a]\n---\n", `{"mcpServers": {"a": {}}}`)
	f.Add("---\n? [a]\n: b\n---\n", `[[[`)
	f.Fuzz(func(t *testing.T, text, data string) {
		dir := put(t, "fuzz", map[string]string{"agents/a.md": text, "skills/s/SKILL.md": text, ".mcp.json": data, ".claude-plugin/plugin.json": data})
		p, err := plugin.Load(dir)
		if err != nil {
			return
		}
		for _, a := range p.Agents {
			if a.Name == "" || a.Description == "" || a.Prompt == "" {
				t.Errorf("%+v", a)
			}
		}
	})
}
