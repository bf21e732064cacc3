package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
)

// Whether old results are trimmed shows only when a provider's cache has gone cold,
// an hour later; so the view that the flags make is asked itself.
func TestStarter_no_trim_feeds_old_large_results_back_whole(t *testing.T) {
	for _, noTrim := range []bool{false, true} {
		view := (&goCommand{NoTrim: noTrim}).view()
		_, report := transcript.View(longReads(t), *view)
		if want := map[bool]int{false: 4, true: 0}[noTrim]; report.Cleared != want {
			t.Errorf("--no-trim %v: %d results cleared, want %d", noTrim, report.Cleared, want)
		}
	}
}

// longReads is a session of 24 calls with results of 3,000 characters.
func longReads(t *testing.T) (all []transcript.Entry) {
	t.Helper()
	parent := "null"
	add := func(id, kind, content string) {
		e, err := transcript.Parse([]byte(fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"type":%q,"message":{"role":%q,"content":[%s]}}`, id, parent, kind, kind, content)))
		if err != nil {
			t.Fatal(err)
		}
		all, parent = append(all, e), fmt.Sprintf("%q", id)
	}
	for n := range 24 {
		add(fmt.Sprintf("a%d", n), "assistant", fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"Read","input":{}}`, n))
		add(fmt.Sprintf("u%d", n), "user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":"c%d","content":%q}`, n, strings.Repeat("x", 3000)))
	}
	return all
}
