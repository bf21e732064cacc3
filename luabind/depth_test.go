package luabind_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
)

// within asks a guard about a call in every turn: so a run within a guard is
// within the run that asked it.
func within(t *testing.T) harness.Harness {
	t.Helper()
	return native.New(native.Config{Model: rehearse(t, `return function(turn)
		if turn.turn == 1 then return { tool = "Read", input = { file_path = "x" } } end
		return "read"
	end`)})
}

const tooDeep = "16 runs are within each other; does a callback run its own agent or workflow again, without an end?"

func TestDepth_an_agent_that_its_own_guard_runs_again_is_stopped(t *testing.T) {
	p := play(t, within(t), `
		local agent, runs = nil, 0
		agent = flower.agent{ name = "a", hooks = { flower.guard{ on = "before", check = function()
			runs = runs + 1
			assert(runs < 100)
			flower.runtime:run(agent, "again")
		end } } }
		flower.runtime:run(agent, "go")
		print(runs)`, nil)
	if p.err != nil || !strings.Contains(strings.Join(p.errors, "\n"), "runtime:run: "+tooDeep) {
		t.Errorf("%v %q", p.err, p.errors)
	}
	sameLines(t, "runs", p.printed, "16")
}

func TestDepth_a_workflow_that_its_own_callbacks_run_again_is_stopped(t *testing.T) {
	for _, field := range []string{
		`gate = function() again() return true end`, `prompt = function() again() return "p" end`, `when = function() again() return true end`,
	} {
		p := play(t, &echo{}, `
			local flow, runs = nil, 0
			local function again()
				runs = runs + 1
				assert(runs < 100)
				flower.run(flow)
			end
			local fields = { `+field+` }
			fields.name, fields.spec, fields.prompt = "s", flower.agent{ name = "a" }, fields.prompt or "p"
			flow = flower.workflow{ continuous = false, steps = { flower.step(fields) } }
			local ending = flower.run(flow)
			print(runs)`, nil)
		if p.err != nil || !strings.Contains(strings.Join(p.errors, "\n"), "flower.run: "+tooDeep) {
			t.Errorf("%s: %v %q", field, p.err, p.errors)
		}
		if len(p.printed) != 1 || p.printed[0] != "16" {
			t.Errorf("%s: printed %q", field, p.printed)
		}
	}
}

func TestDepth_on_step_counts_too(t *testing.T) {
	p := play(t, &echo{}, `
		local flow, runs = nil, 0
		flow = flower.workflow{ continuous = false,
			steps = { flower.step{ name = "s", spec = flower.agent{ name = "a" }, prompt = "p" } },
			on_step = function()
				runs = runs + 1
				assert(runs < 100)
				flower.run(flow)
			end }
		flower.run(flow)
		print(runs)`, nil)
	if p.err != nil || !strings.Contains(strings.Join(p.errors, "\n"), tooDeep) {
		t.Errorf("%v %q", p.err, p.errors)
	}
}

// TestDepth_steps_side_by_side_are_not_within_each_other: their gates wait for their
// judges at the same time.
func TestDepth_steps_side_by_side_are_not_within_each_other(t *testing.T) {
	p := play(t, &echo{}, `
		local a, steps = flower.agent{ name = "a" }, {}
		for i = 1, 40 do
			steps[i] = flower.step{ name = "s" .. i, spec = a, prompt = "p", gate = function(_, ctx)
				return ctx._runtime:run(a, "judge", { step_name = "judge " .. i }).ok
			end }
		end
		return flower.workflow{ steps = { flower.parallel(steps) } }`, nil)
	if p.err != nil || len(p.errors) > 0 || !p.ending.OK {
		t.Errorf("%v %q %+v", p.err, p.errors, p.ending.Reason)
	}
}
