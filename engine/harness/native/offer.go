package native

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// agentTool is the tool that dispatches subagents, searchTool the one that lets
// the provider search the web. Both need the loop, so they are made here.
const (
	agentTool  = "Agent"
	searchTool = "WebSearch"
	askTool    = "mcp__human__ask"
)

// workerTools is what a worker may call that names nothing.
var workerTools = []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch"}

// kit is everything there is in a session, whoever may call it.
type kit map[string]tool.Tool

// names are the kit's tools in alphabetical order.
func (k kit) names() []string {
	var out []string
	for name := range k {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// check reports the first name that is no tool.
func (k kit) check(a harness.Agent, names []string) error {
	for _, n := range names {
		if _, ok := k[n]; ok {
			continue
		}
		if n == tool.SkillTool {
			return fmt.Errorf("names %q, and there is no skill: plugins bring them", n)
		}
		if err := a.MissingServer(n, k.names()); err != nil {
			return err
		}
		return fmt.Errorf("names %q, which is no tool of this harness%s (there are: %s)", n, spell.Hint(n, k.names()), k.list())
	}
	return nil
}

// offer picks the allowed tools.
func (k kit) offer(allowed, barred []string) kit {
	out := kit{}
	for _, n := range allowed {
		if t, ok := k[n]; ok && !slices.Contains(barred, n) {
			out[n] = t
		}
	}
	return out
}

// definitions are the tools as requests name them, sorted, so that the same tools
// give the same bytes.
func (k kit) definitions() []json.RawMessage {
	var out []json.RawMessage
	for _, name := range k.names() {
		d := k[name].Definition()
		schema := d.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, new(object).str("name", d.Name).str("description", d.Description).raw("input_schema", oneLine(schema)).bytes())
	}
	return out
}

// list names the tools for a message.
func (k kit) list() string {
	if len(k) == 0 {
		return "nothing"
	}
	return strings.Join(k.names(), ", ")
}

// efforts are the words for how hard to think.
var efforts = []string{"low", "medium", "high", "xhigh", "max", "none"}

// thinking is an effort as fields of a request, and the tokens it sets aside.
func thinking(effort string) (extra map[string]json.RawMessage, tokens int, err error) {
	switch n, err := strconv.Atoi(effort); {
	case effort == "":
		return nil, 0, nil
	case effort == "none":
		return map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"disabled"}`)}, 0, nil
	case slices.Contains(efforts, effort):
		return map[string]json.RawMessage{
			"thinking":      json.RawMessage(`{"type":"adaptive"}`),
			"output_config": new(object).str("effort", effort).bytes(),
		}, 0, nil
	case err == nil && n >= 1024:
		raw := new(object).str("type", "enabled").any("budget_tokens", n).bytes()
		return map[string]json.RawMessage{"thinking": raw}, n, nil
	}
	return nil, 0, &harness.FieldError{Field: "effort", Err: fmt.Errorf("is %q; it is one of %s, or a number of tokens from 1024%s", effort,
		strings.Join(efforts, ", "), spell.Hint(effort, efforts))}
}
