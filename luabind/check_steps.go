package luabind

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// sameNames warns of different steps of a workflow that have one name: its value in
// the context, and the session that is remembered of it, replace the other's. The same
// step may stand there twice.
func (c *checker) sameNames(workflow *lua.LTable) {
	first := map[string]*lua.LTable{}
	for _, step := range c.steps(workflow.RawGetString("steps"), nil) {
		name, ok := step.RawGetString("name").(lua.LString)
		if !ok || first[string(name)] == nil {
			first[string(name)] = step
			continue
		}
		at := c.s.kinds[step].at
		m := Mistake{File: at.file, Line: at.lineOf("name"), word: string(name),
			Text: "another step is called " + inQuotes(string(name)) + " too: their values in the context, and the sessions that a later run continues, go by the name"}
		if first[string(name)] != step && !slices.Contains(c.warned, m) && len(c.warned) < maxFindings {
			c.warned = append(c.warned, m)
		}
	}
}

// steps are those of a list, and of what runs side by side in it.
func (c *checker) steps(v lua.LValue, list []*lua.LTable) []*lua.LTable {
	t, ok := v.(*lua.LTable)
	if !ok || len(list) > maxListed {
		return list
	}
	for i := 1; i <= t.Len(); i++ {
		item, ok := t.RawGetInt(i).(*lua.LTable)
		switch {
		case !ok:
		case c.s.isMade(item, "parallel"):
			list = c.steps(item, list)
		case c.s.isMade(item, "step"):
			list = append(list, item)
		}
	}
	return list
}
