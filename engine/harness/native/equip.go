package native

import (
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// modes are the permission modes.
var modes = []string{"", string(harness.Default), string(harness.AcceptEdits), string(harness.Plan), string(harness.BypassPermissions)}

// toolName and longestToolName are what providers take as the name of a tool. The length is
// not part of the expression, which it would make large.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

const longestToolName = 128

// checkOrder reports every kind of name that means nothing, before anything is
// stored or spent.
func (r *run) checkOrder() error {
	a := r.turn.Agent
	all := kit{}
	for _, name := range tool.Builtin {
		all[name] = nil
	}
	delete(all, tool.SkillTool) // plugins bring it
	for _, t := range r.turn.HostTools {
		d := t.Definition()
		if !toolName.MatchString(d.Name) || len(d.Name) > longestToolName {
			return fmt.Errorf("a host tool is called %q; a name has 1 to 128 letters, digits, _ and -", d.Name)
		}
		if len(d.Schema) > 0 && !isObject(d.Schema) {
			return fmt.Errorf("host tool %s: the schema is not a JSON object", d.Name)
		}
		all[d.Name] = t
	}
	if len(a.Skills) > 0 {
		all[tool.SkillTool] = nil
	}
	for name, s := range a.MCPServers {
		if _, err := s.Check(name); err != nil {
			return fmt.Errorf("mcp_servers.%s: %w", name, err)
		}
	}
	for _, name := range r.named() {
		all[name] = nil // whether the server has it is asked later
	}
	for _, list := range a.NamedTools() {
		if err := all.check(a, list.Names); err != nil {
			return &harness.FieldError{Field: list.Field, Err: err}
		}
	}
	if err := checkMode(a.PermissionMode); err != nil {
		return err
	}
	for name, w := range a.Workers {
		if err := checkMode(w.PermissionMode); err != nil {
			return fmt.Errorf("worker %s: %w", name, err)
		}
		if _, _, err := thinking(w.Effort); err != nil {
			return fmt.Errorf("worker %s: %w", name, err)
		}
	}
	_, _, err := thinking(r.effort())
	return err
}

// Check reports what of an agent cannot be carried out; see harness.Checker.
func (h *Harness) Check(a harness.Agent, tools []tool.Tool) error {
	r := &run{h: h, turn: harness.Turn{Agent: a, HostTools: tools}}
	return r.checkOrder()
}

func checkMode(m harness.PermissionMode) error {
	if slices.Contains(modes, string(m)) {
		return nil
	}
	return &harness.FieldError{Field: "permission_mode",
		Err: fmt.Errorf("is %q; it is one of default, acceptEdits, plan, bypassPermissions%s", m, spell.Hint(string(m), modes[1:]))}
}

// equip gives the thread the tools it may call, and the skills it may read. A tool of the embedding program
// takes the place of a built-in one of the same name.
func (t *thread) equip(allowed []string, mode harness.PermissionMode, skills []tool.Skill) {
	a, c := t.run.turn.Agent, t.run.h.config
	page := a.PageChars
	if t.sub() {
		page = 0
	}
	t.set = tool.NewSet(tool.Options{
		PageChars: page,
		Workspace: t.dir, AddDirs: a.AddDirs, Writable: []string{os.TempDir()},
		PermissionMode: string(mode), Ephemeral: c.Ephemeral,
		Env: a.Env, SecretEnv: c.SecretEnv, Subagent: t.sub(), OutputDir: c.OutputDir, AllowPrivate: c.AllowPrivate,
		OnTodos: t.sayTodos, Now: c.Now,
	})
	all := kit{searchTool: t.searcher()}
	for _, x := range t.set.Tools() {
		all[x.Definition().Name] = x
	}
	if len(a.Workers) > 0 && t.depth < c.MaxDepth {
		all[agentTool] = t.dispatcher()
	}
	if len(skills) > 0 {
		all[tool.SkillTool] = tool.NewSkillTool(skills)
	}
	for _, x := range t.run.servers.tools {
		all[x.Name] = t.run.remoteTool(x, mode)
	}
	for _, x := range t.run.turn.HostTools {
		all[x.Definition().Name] = x
	}
	t.tools = all.offer(allowed, a.DisallowedTools)
}

func (t *thread) sayTodos(_ string, todos []tool.Todo) {
	t.say(event.Event{Kind: event.Task, Tool: "TodoWrite", Text: fmt.Sprintf("%d todos", len(todos)), Payload: map[string]any{"todos": todos}})
}

// workingDir is where the thread's next command would start.
func (t *thread) workingDir() string {
	if t.set == nil {
		return t.dir
	}
	return t.set.Dir()
}
