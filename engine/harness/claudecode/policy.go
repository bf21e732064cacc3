package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// policy says who may call what, whatever the program itself would allow: its own
// lists only spare a question.
type policy struct {
	agent     harness.Agent
	ephemeral func(command string) bool
}

// refuses is why a call must not run, as the model reads it; empty when it may.
func (p policy) refuses(c guard.Call) string {
	tools, mode, why := p.of(c)
	switch {
	case why != "":
		return why
	case !slices.Contains(tools, c.Tool) || slices.Contains(p.agent.DisallowedTools, c.Tool):
		return fmt.Sprintf("%s is not among the tools of this agent, on purpose; it can call: %s. Do not look for a way round; say in your reply what is missing.",
			c.Tool, strings.Join(tools, ", "))
	}
	switch c.Tool {
	case "Write", "Edit", "NotebookEdit":
		return p.refusesWrite(c, mode)
	case tool.SkillTool:
		return p.refusesSkill(c)
	case "Bash":
		if mode == harness.Plan && (p.ephemeral == nil || !p.ephemeral(command(c.Input))) {
			return "In plan mode a command must only look and change nothing; this one was not run."
		}
	}
	return ""
}

// of is what the caller may call, and how.
func (p policy) of(c guard.Call) (tools []string, mode harness.PermissionMode, why string) {
	if c.MainThread() {
		return p.agent.AllowedTools, p.agent.PermissionMode, ""
	}
	w, ok := p.agent.Workers[c.AgentRole]
	if !ok {
		return nil, "", fmt.Sprintf("There is no worker %q, so nothing says what it may call.", c.AgentRole)
	}
	mode = w.PermissionMode
	if mode == "" {
		mode = p.agent.PermissionMode
	}
	return toolsOf(w), mode, ""
}

// refusesSkill keeps a worker to the skills that it may read. The program shows all
// to everybody: it has one list of tools.
func (p policy) refusesSkill(c guard.Call) string {
	w := p.agent.Workers[c.AgentRole]
	if c.MainThread() || len(w.Skills) == 0 {
		return ""
	}
	var in struct {
		Skill string `json:"skill"`
	}
	_ = lenient(c.Input, &in) // an input without one names none
	if _, err := tool.FindSkill(p.agent.ReadableSkills(w), in.Skill); err != nil {
		return err.Error()
	}
	return ""
}

func (p policy) refusesWrite(c guard.Call, mode harness.PermissionMode) string {
	switch mode {
	case harness.Plan:
		return "In plan mode no file is changed; this call was not run."
	case harness.BypassPermissions:
		return ""
	}
	var in struct {
		Path     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if lenient(c.Input, &in) != nil || in.Path+in.Notebook == "" {
		return "" // the tool itself says what is wrong
	}
	path := real(absolute(in.Path+in.Notebook, c.Dir))
	for _, dir := range append([]string{p.agent.Workspace, os.TempDir()}, p.agent.AddDirs...) {
		if within(path, real(dir)) {
			return ""
		}
	}
	return fmt.Sprintf("%s lies outside of the folders that this agent may write to: %s. Write there.",
		path, strings.Join(append([]string{p.agent.Workspace}, p.agent.AddDirs...), ", "))
}

// command is the command of a Bash call.
func command(input json.RawMessage) string {
	var in struct {
		Command string `json:"command"`
	}
	_ = lenient(input, &in) // an input without one has none
	return in.Command
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// real is a path with the links of what exists of it followed.
func real(path string) string {
	for rest := ""; ; {
		if at, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(at, rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		rest, path = filepath.Join(filepath.Base(path), rest), parent
	}
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
