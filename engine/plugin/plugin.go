// Package plugin reads plugins: folders that come with a repository and bring
// agents, skills and MCP servers, laid out as Claude Code lays them out. It runs
// nothing and starts nothing.
//
//	plugin/
//	  .claude-plugin/plugin.json   {"name", "version", "description"}; may be absent
//	  agents/reviewer.md           front matter and a prompt
//	  skills/release/SKILL.md      front matter and what to do, with files beside it
//	  .mcp.json                    {"mcpServers": {"db": {"command": …}}}
//
// Four nouns. A Plugin is what one folder holds. An Agent is a subagent to be
// dispatched, a Skill a text that says how something is done, a Server an MCP server
// that somebody else may start.
//
//	p, err := plugin.Load("plugin")
//	for _, s := range p.Skills {
//		fmt.Println(s.Name, s.Description)
//	}
//
// Usual mistakes: taking a note for an error (what is not used, such as hooks, is
// noted and nothing more); expecting a link that leads out of the folder to be
// followed.
package plugin

import (
	"errors"
	"fmt"
	"os"
)

// Plugin is what a folder brings. Lists are sorted by name; names are unique among
// their kind.
type Plugin struct {
	Name        string // of plugin.json, else the folder's
	Version     string
	Description string
	Dir         string // absolute, without links

	Agents  []Agent
	Skills  []Skill
	Servers []Server
	// Notes say what is in the folder and not used, and why, a sentence each.
	Notes []string
}

// Agent is a subagent that the plugin brings.
type Agent struct {
	Name        string
	Description string // when to dispatch it
	Prompt      string
	// Tools are what it may call, as the file names them; nil: the file does not say.
	// Barred are those it must not.
	Tools  []string
	Barred []string
	Model  string // empty: its dispatcher's
	Effort string // empty: its dispatcher's
	// MaxTurns is how many turns it may take; 0: any number.
	MaxTurns int
	Skills   []string // names of skills that it may read
	File     string   // within the folder
}

// Skill is a text that says how something is done.
type Skill struct {
	Name        string
	Description string // when to use it
	Text        string
	Dir         string // its folder, absolute: files that the text names lie there
}

// Server is an MCP server that the plugin brings: a command, or an address.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string // of the command, PluginRoot among them
	URL     string
	Headers map[string]string
	// Problem is why it cannot be used; empty: it can. It is among the Notes too.
	Problem string
}

// Root is the variable that stands for the plugin's folder, in texts as ${…} and in
// the environment of servers.
const Root = "CLAUDE_PLUGIN_ROOT"

// Bounds of a plugin. What goes beyond is an error.
const (
	MaxFile        = 256 << 10 // bytes of one file
	MaxAgents      = 100
	MaxSkills      = 100
	MaxServers     = 50
	MaxDescription = 4000 // characters of an agent's or a skill's
)

// ErrNone: there is no such folder.
var ErrNone = errors.New("there is no folder")

// FileError is what is wrong with a file of a plugin.
type FileError struct {
	File string // its path
	Line int    // from 1; 0: the whole file
	Text string
}

// Error is file:line: text.
func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Text)
}

// Load reads the plugin in dir, which may be a link. Everything that is wrong is told
// at once; the errors are *FileError, or ErrNone.
func Load(dir string) (Plugin, error) {
	path, err := folder(dir)
	if err != nil {
		return Plugin{}, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return Plugin{}, fmt.Errorf("plugin %s: %w", dir, err)
	}
	defer root.Close()
	return load(root, dir, path)
}

// Within reads the plugin in the folder name of dir, where that is one: a folder with
// a plugin.json, agents, skills or servers. found is false for any other folder, and
// for none. A link that leads out of dir is an error.
func Within(dir, name string) (p Plugin, found bool, err error) {
	outer, err := os.OpenRoot(dir)
	if err != nil {
		return p, false, fmt.Errorf("plugin %s: %w", dir, err)
	}
	defer outer.Close()
	return within(outer, dir, name)
}
