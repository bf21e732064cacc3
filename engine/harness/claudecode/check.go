package claudecode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// programTools are tools of the program by our names. Another version of it may have
// others, so a name that is near to none of them is let through.
var programTools = append(slices.Clone(tool.Builtin), "ExitPlanMode", "SlashCommand")

// Check reports what of an agent cannot be carried out; see harness.Checker.
func (h *Harness) Check(a harness.Agent, tools []tool.Tool) error {
	known := slices.Clone(programTools)
	for _, t := range tools {
		known = append(known, t.Definition().Name)
	}
	for _, list := range a.NamedTools() {
		for _, name := range list.Names {
			if err := checkName(a, name, known); err != nil {
				return &harness.FieldError{Field: list.Field, Err: err}
			}
		}
	}
	r := &run{h: h, turn: harness.Turn{Agent: a}}
	_, err := r.effort(nil)
	return err
}

func checkName(a harness.Agent, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if err := a.MissingServer(name, known); err != nil || strings.HasPrefix(name, "mcp__") {
		return err
	}
	if _, ok := spell.Near(name, known); ok {
		return fmt.Errorf("names %q, which is no tool of this harness%s", name, spell.Hint(name, known))
	}
	return nil
}
