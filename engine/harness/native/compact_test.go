package native_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
)

func TestCompact_this_harness_has_none(t *testing.T) {
	for _, mode := range []harness.CompactMode{"", harness.CompactNoSummary, harness.CompactOff} {
		b := newBench(t, nil, says("Done."))
		b.turn.Agent.Compact.Mode = mode
		b.mustRun(harness.EndTurn)
	}
	b := newBench(t, nil)
	b.turn.Agent.Compact.Mode = harness.CompactAuto
	var order *harness.OrderError
	if _, err := b.run(); !errors.As(err, &order) || !strings.Contains(err.Error(), `agent tester: compact is "auto"; this harness has no compaction`) {
		t.Errorf("err = %v", err)
	}
	if n := len(b.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
