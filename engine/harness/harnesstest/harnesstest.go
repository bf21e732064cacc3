// Package harnesstest is the suite that every harness must pass: the same turns,
// over a real HTTP double of the Messages API, with the same outcomes, stored
// transcripts and requests. What may differ between harnesses is a field of Suite.
//
//	func TestConformance(t *testing.T) {
//		harnesstest.Run(t, harnesstest.Suite{
//			New:   func(t testing.TB, p harnesstest.Provider) harness.Harness { … },
//			Store: func(t testing.TB) transcript.Store { … },
//		})
//	}
package harnesstest

import (
	"context"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/transcript"
)

// Provider is what a harness under test is to work with.
type Provider struct {
	URL     string // of the Messages API, without /v1
	Key     string // sent as x-api-key
	Model   string // the default model
	Retries int    // of one request; negative none
	// Info knows the price of every model.
	Info func(ctx context.Context, name string) (model.Info, error)
	// Now is the harness's clock.
	Now func() time.Time
}

// Suite is a harness to test.
type Suite struct {
	// New makes a harness, as a fresh process would.
	New func(t testing.TB, p Provider) harness.Harness
	// Other makes another harness, with which sessions are exchanged; nil leaves
	// that case out.
	Other func(t testing.TB, p Provider) harness.Harness
	// Store opens an empty store that is closed when the test ends.
	Store func(t testing.TB) transcript.Store
}

// Run runs every case as a subtest, in parallel.
func Run(t *testing.T, s Suite) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newRig(t, s))
		})
	}
}

// cases are all there are; each says in its name what a harness does.
var cases = []struct {
	name string
	run  func(r *rig)
}{
	{"text_is_the_outcome", textIsTheOutcome},
	{"a_call_runs_and_its_result_goes_back", aCallRuns},
	{"a_denied_call_does_not_run", aDeniedCallDoesNotRun},
	{"a_denial_is_remembered_and_leaves_the_view", aDenialLeavesTheView},
	{"a_tool_that_is_not_allowed_does_not_run", aToolNotAllowed},
	{"a_guard_rewrites_the_input", aGuardRewritesTheInput},
	{"a_guard_rewrites_the_result", aGuardRewritesTheResult},
	{"a_large_result_is_spilled", aLargeResultIsSpilled},
	{"a_guard_that_fails_denies", aGuardThatFails},
	{"a_subagent_reports_and_is_accounted_apart", aSubagentReports},
	{"a_worker_has_limits_of_its_own", aWorkersLimits},
	{"guards_hold_for_subagents", guardsHoldForSubagents},
	{"an_isolated_worker_leaves_the_workspace_alone", anIsolatedWorker},
	{"a_person_is_asked", aPersonIsAsked},
	{"a_host_tool_of_any_name_is_called", aHostToolIsCalled},
	{"a_skill_is_read", aSkillIsRead},
	{"a_worker_reads_its_skills_alone", aWorkerReadsItsSkills},
	{"a_session_is_resumed", aSessionIsResumed},
	{"a_session_goes_to_another_harness_and_back", aSessionGoesAbroad},
	{"a_fork_leaves_its_origin_alone", aForkLeavesItsOrigin},
	{"resume_at_goes_back", resumeAtGoesBack},
	{"a_person_interrupts", aPersonInterrupts},
	{"a_cancelled_turn_ends_and_leaves_nothing_running", aCancelledTurn},
	{"the_limit_of_turns_holds", theLimitOfTurns},
	{"the_budget_holds", theBudgetHolds},
	{"the_context_line_holds", theContextLineHolds},
	{"a_wrong_key_fails_at_once", aWrongKey},
	{"a_rate_limit_fails_with_its_wait", aRateLimit},
	{"an_overload_is_tried_again", anOverload},
	{"too_long_is_an_overflow", tooLong},
	{"a_stream_cut_in_text_is_repeated", aStreamCutInText},
	{"a_stream_cut_after_a_call_runs_it_once", aStreamCutAfterACall},
	{"a_crash_in_a_call_is_told", aCrashInACall},
	{"a_missing_session_is_an_error", aMissingSession},
	{"a_slash_is_no_command", aSlashIsNoCommand},
}
