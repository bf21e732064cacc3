package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/plugin"
	"github.com/flowerlua/flower/engine/tool"
)

// PluginFolder is the folder of a workspace that is its plugin.
const PluginFolder = "plugin"

// maxPlugins is how many plugins one agent may have.
const maxPlugins = 20

// pluginFolders are the plugins read so far, by their folders: what agents change
// there counts from the next Runtime on.
type pluginFolders struct {
	mu     sync.Mutex
	loaded map[string]plugin.Plugin
	// none: the workspace's own folder was looked at and is no plugin.
	none bool
	told map[string]bool // notes
}

// load reads the plugins of a list; those of nil are the workspace's own.
func (f *pluginFolders) load(workspace string, dirs []string) ([]plugin.Plugin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded == nil {
		f.loaded, f.told = map[string]plugin.Plugin{}, map[string]bool{}
	}
	if dirs == nil {
		return f.own(workspace)
	}
	if len(dirs) > maxPlugins {
		return nil, fmt.Errorf("there are %d plugins; %d are the most", len(dirs), maxPlugins)
	}
	var list []plugin.Plugin
	at := map[string]string{}
	for _, dir := range dirs {
		path := dir
		if !filepath.IsAbs(path) {
			path = filepath.Join(workspace, path)
		}
		p, known := f.loaded[path]
		if !known {
			var err error
			if p, err = plugin.Load(path); err != nil {
				return nil, err
			}
			f.loaded[path] = p
		}
		if other, twice := at[p.Name]; twice {
			return nil, fmt.Errorf("plugin %s is called %q, as %s is; give one of them another name in its .claude-plugin/plugin.json", dir, p.Name, other)
		}
		at[p.Name] = dir
		list = append(list, p)
	}
	return list, nil
}

func (f *pluginFolders) own(workspace string) ([]plugin.Plugin, error) {
	path := filepath.Join(workspace, PluginFolder)
	if p, known := f.loaded[path]; known {
		return []plugin.Plugin{p}, nil
	}
	if f.none {
		return nil, nil
	}
	p, found, err := plugin.Within(workspace, PluginFolder)
	if err != nil {
		return nil, err
	}
	if f.none = !found; f.none {
		return nil, nil
	}
	f.loaded[path] = p
	return []plugin.Plugin{p}, nil
}

// news are those of the notes that were not told yet.
func (f *pluginFolders) news(notes []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
		old := f.told[note]
		f.told[note] = true
		return old
	})
}

// brought is what plugins bring to one agent.
type brought struct {
	workers map[string]harness.Worker
	servers map[string]harness.MCPServer
	skills  []tool.Skill
	notes   []string
}

// bring finds what plugins bring to the agent of a spec. Those that it did not name
// itself are only read when it has a use for them.
func (rt *Runtime) bring(s Spec) (*brought, error) {
	b := &brought{workers: s.Workers, servers: s.MCPServers}
	use := newUse(s)
	if s.Plugins == nil && !use.any() {
		return b, nil
	}
	dirs := s.Plugins
	if dirs == nil {
		dirs = rt.plugins
	}
	plugins, err := rt.folders.load(rt.workspace, dirs)
	if err != nil {
		return nil, inPlugins(err)
	}
	b.workers, b.servers = maps.Clone(s.Workers), maps.Clone(s.MCPServers)
	for _, p := range plugins {
		for _, note := range p.Notes {
			b.notes = append(b.notes, fmt.Sprintf("plugin %s: %s", p.Name, note))
		}
		for _, skill := range p.Skills {
			b.skills = append(b.skills, tool.Skill{Name: p.Name + ":" + skill.Name, Description: skill.Description, Text: skill.Text, Dir: skill.Dir})
		}
		if err := b.addServers(p, use); err != nil {
			return nil, err
		}
	}
	if err := b.nameSkills(s.Workers); err != nil {
		return nil, err
	}
	if use.dispatches {
		for _, p := range plugins {
			b.addAgents(p, use)
		}
	}
	return b, nil
}

// inPlugins says that an error is of the field plugins.
func inPlugins(err error) error {
	return &harness.FieldError{Field: "plugins", Err: fmt.Errorf("cannot be used: %w", err)}
}

// use is what of plugins an agent may use: what its spec names.
type use struct {
	dispatches bool
	skills     bool
	servers    bool
	named      map[string]bool // tools, of the agent or a worker of the script
}

func newUse(s Spec) use {
	u := use{named: map[string]bool{}}
	add := func(tools []string) {
		for _, name := range tools {
			if !slices.Contains(s.DisallowedTools, name) {
				u.named[name] = true
				u.servers = u.servers || strings.HasPrefix(name, "mcp__plugin_")
			}
		}
	}
	add(s.AllowedTools)
	u.dispatches = u.named["Agent"]
	for _, w := range s.Workers {
		add(w.Tools)
		u.skills = u.skills || len(w.Skills) > 0
	}
	u.skills = u.skills || u.named[tool.SkillTool]
	return u
}

func (u use) any() bool { return u.dispatches || u.skills || u.servers }

// names reports whether a tool of the server is named.
func (u use) names(server string) bool {
	for name := range u.named {
		if strings.HasPrefix(name, "mcp__"+server+"__") {
			return true
		}
	}
	return false
}

// PluginServer is the name of an MCP server that a plugin brings: its tools are called
// mcp__<name>__<tool>.
func PluginServer(plugin, server string) string {
	return "plugin_" + notInServerName.ReplaceAllString(plugin, "_") + "_" + notInServerName.ReplaceAllString(server, "_")
}

var notInServerName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// addServers adds those servers of which a tool is named: nothing else of a plugin is
// ever started. One that the spec gives by the same name takes its place.
func (b *brought) addServers(p plugin.Plugin, u use) error {
	for _, s := range p.Servers {
		name := PluginServer(p.Name, s.Name)
		if _, own := b.servers[name]; own || !u.names(name) {
			continue
		}
		server := harness.MCPServer{Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers}
		if s.Problem != "" {
			return inPlugins(fmt.Errorf("%s: MCP server %s: %s", p.Dir, s.Name, s.Problem))
		}
		if _, err := server.Check(name); err != nil {
			return inPlugins(fmt.Errorf("%s: MCP server %s: %w", p.Dir, s.Name, err))
		}
		if b.servers == nil {
			b.servers = map[string]harness.MCPServer{}
		}
		b.servers[name] = server
	}
	return nil
}

// nameSkills gives the skills of workers their whole names.
func (b *brought) nameSkills(workers map[string]harness.Worker) error {
	for _, name := range slices.Sorted(maps.Keys(workers)) {
		w := workers[name]
		if len(w.Skills) == 0 {
			continue
		}
		var err error
		if w.Skills, err = b.find(w.Skills, ""); err != nil {
			return &harness.FieldError{Field: "workers." + name + ".skills", Err: fmt.Errorf("cannot be read: %w", err)}
		}
		w.Tools = withSkillTool(w.Tools)
		b.workers[name] = w
	}
	return nil
}

// find gives skills their whole names; a plugin's own come before others.
func (b *brought) find(names []string, own string) (whole []string, err error) {
	for _, name := range names {
		s, err := tool.FindSkill(b.skills, own+name)
		if err != nil && own != "" {
			s, err = tool.FindSkill(b.skills, name)
		}
		if err != nil {
			return nil, err
		}
		whole = append(whole, s.Name)
	}
	return whole, nil
}

// withSkillTool adds Skill to a worker's tools.
func withSkillTool(tools []string) []string {
	if len(tools) == 0 {
		tools = workerTools
	}
	if slices.Contains(tools, tool.SkillTool) {
		return tools
	}
	return append(slices.Clone(tools), tool.SkillTool)
}

// addAgents adds the agents of a plugin as workers. A worker of the script that is
// called the same takes the place of one.
func (b *brought) addAgents(p plugin.Plugin, u use) {
	for _, a := range p.Agents {
		name := p.Name + ":" + a.Name
		if _, own := b.workers[name]; own {
			continue
		}
		note := func(format string, args ...any) {
			b.notes = append(b.notes, fmt.Sprintf("plugin %s: agent %s: ", p.Name, a.Name)+fmt.Sprintf(format, args...))
		}
		tools, left := agentTools(a, u, len(b.skills) > 0)
		if len(left) > 0 {
			note("it may not call %s: there is no such tool, or the script names it for none of its own", strings.Join(left, ", "))
		}
		if len(tools) == 0 {
			note("it is left out: it has no tools")
			continue
		}
		w := harness.Worker{Description: a.Description, Prompt: a.Prompt, Tools: tools, Model: a.Model, Effort: a.Effort, MaxTurns: a.MaxTurns}
		if levels := efforts[1:]; a.Effort != "" && !slices.Contains(levels, a.Effort) {
			note("effort is %q and is not used; it is one of %s", a.Effort, strings.Join(levels, ", "))
			w.Effort = ""
		}
		if len(a.Skills) > 0 {
			var err error
			if w.Skills, err = b.find(a.Skills, p.Name+":"); err != nil {
				note("%v", err)
			} else {
				w.Tools = withSkillTool(w.Tools)
			}
		}
		if b.workers == nil {
			b.workers = map[string]harness.Worker{}
		}
		b.workers[name] = w
	}
}

// agentTools are the tools of a plugin's agent, and those that it names and does not
// get. A file of a repository gives its agents tools that flower brings; all others,
// which may reach anything, only the script does.
func agentTools(a plugin.Agent, u use, skills bool) (tools, left []string) {
	wanted := a.Tools
	if wanted == nil {
		wanted = workerTools
	}
	for _, name := range wanted {
		known := slices.Contains(tool.Builtin, name) && name != "Agent" && (name != tool.SkillTool || skills)
		switch {
		case slices.Contains(a.Barred, name) || slices.Contains(tools, name):
		case known || u.named[name]:
			tools = append(tools, name)
		default:
			left = append(left, name)
		}
	}
	return tools, left
}

// tellNotes says once what of the plugins is not used.
func (a *activeRun) tellNotes() {
	for _, note := range a.rt.folders.news(a.notes) {
		a.emit(event.Event{Kind: event.System, Text: note})
	}
}
