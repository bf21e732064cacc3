package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
)

// readCompact reads compact: a mode, or a table of a mode and a window.
func (s *state) readCompact(r *reader) harness.Compaction {
	v := r.get("compact")
	t, ok := v.(*lua.LTable)
	if !ok {
		if v.Type() != lua.LTString && v != lua.LNil {
			r.mustBe("compact", "a mode or a table {mode, window}", v)
			return harness.Compaction{}
		}
		return harness.Compaction{Mode: harness.CompactMode(r.oneOf("compact", engine.CompactModes...))}
	}
	before := len(*r.found)
	in := s.reader(s.L, t, r.fieldPath("compact"), r.found)
	c := harness.Compaction{Window: int64(in.count("window"))}
	if in.required("mode", `"auto", "no_summary" or "off"`) {
		c.Mode = harness.CompactMode(in.oneOf("mode", engine.CompactModes...))
	}
	in.finish()
	if field, err := engine.CheckCompact(c); err != nil && len(*r.found) == before {
		in.wrong(field, "%v", err)
	}
	return c
}
