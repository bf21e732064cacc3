package engine

import (
	"fmt"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/internal/spell"
)

// CompactModes are the words for a compaction policy.
var CompactModes = []string{string(harness.CompactAuto), string(harness.CompactNoSummary), string(harness.CompactOff)}

// lowestCompactWindow is the smallest context, in tokens, that a harness can be
// made to assume.
const lowestCompactWindow = 100_000

// CheckCompact reports what makes no sense in a compaction policy, and in which field:
// mode or window. Both are empty where all is well.
func CheckCompact(c harness.Compaction) (field string, err error) {
	known := c.Mode == ""
	for _, mode := range CompactModes {
		known = known || string(c.Mode) == mode
	}
	switch {
	case !known:
		return "mode", fmt.Errorf("is %q; it is one of auto, no_summary, off%s", c.Mode, spell.Hint(string(c.Mode), CompactModes))
	case c.Window != 0 && c.Mode != harness.CompactAuto:
		return "window", fmt.Errorf("is %d, but only mode auto has a window", c.Window)
	case c.Window != 0 && c.Window < lowestCompactWindow:
		return "window", fmt.Errorf("is %d; it is %d tokens or more", c.Window, lowestCompactWindow)
	}
	return "", nil
}
