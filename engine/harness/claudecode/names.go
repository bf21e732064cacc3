package claudecode

import (
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// The program calls some tools by other names than agents, guards and events do.

const (
	agentTool  = "Agent"
	askTool    = "mcp__human__ask"
	hostServer = "flower" // of host tools whose name names no server
)

// theirs are the program's names of our tools, where they differ.
var theirs = map[string]string{"BashOutput": "TaskOutput", "KillBash": "TaskStop"}

// ours are our names of the program's tools, where they differ.
var ours = map[string]string{"Task": agentTool, "TaskOutput": "BashOutput", "TaskStop": "KillBash"}

// workerTools is what a worker may call that names nothing.
var workerTools = []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch"}

// names maps the names of tools in both directions.
type names struct {
	host map[string]tool.Tool // by our name
}

func newNames(tools []tool.Tool) names {
	n := names{host: map[string]tool.Tool{}}
	for _, t := range tools {
		n.host[t.Definition().Name] = t
	}
	return n
}

// theirs is what the program calls our tool.
func (n names) theirs(name string) string {
	if n.host[name] != nil {
		if server, _ := n.server(name); server == hostServer {
			return "mcp__" + hostServer + "__" + name
		}
		return name
	}
	if other := theirs[name]; other != "" {
		return other
	}
	return name
}

// ours is what we call the program's tool.
func (n names) ours(name string) string {
	if plain, ok := strings.CutPrefix(name, "mcp__"+hostServer+"__"); ok && n.host[plain] != nil {
		return plain
	}
	if other := ours[name]; other != "" {
		return other
	}
	return name
}

// server is the server of a host tool, and the tool's name there.
func (n names) server(name string) (server, plain string) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, plain, ok = strings.Cut(rest, "__"); ok && server != "" && plain != "" {
			return server, plain
		}
	}
	return hostServer, name
}

// withSkills are the host tools with the one that reads skills, which takes the place
// of the program's own: that one runs commands of its own accord.
func withSkills(t harness.Turn) []tool.Tool {
	own := func(x tool.Tool) bool { return x.Definition().Name == tool.SkillTool }
	if len(t.Agent.Skills) == 0 || slices.ContainsFunc(t.HostTools, own) {
		return t.HostTools
	}
	return append(slices.Clip(t.HostTools), tool.NewSkillTool(t.Agent.Skills))
}

// toolsOf is what a worker may call.
func toolsOf(w harness.Worker) []string {
	if len(w.Tools) == 0 {
		return workerTools
	}
	return w.Tools
}

// offered are all the tools that the main thread or a worker may call, sorted,
// each once, by our names.
func offered(a harness.Agent) []string {
	all := slices.Clone(a.AllowedTools)
	if slices.Contains(all, agentTool) {
		for _, w := range a.Workers {
			all = append(all, toolsOf(w)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(a.DisallowedTools, name) })
}
