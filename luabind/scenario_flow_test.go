package luabind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
)

// breaking are the callbacks of a step and how to write one that is reached.
var breaking = map[string]string{
	"gate": "gate", "prompt": "prompt", "when": "when", "reduce": "reduce", "on_reject": "gate = function() return false, 'no' end, on_reject",
}

func TestFlow_a_callback_that_breaks_ends_the_step_at_once_and_on_fail_decides(t *testing.T) {
	for name, field := range breaking {
		for onFail, want := range map[string]string{"stop": "one", "skip": "one two", "continue": "one two"} {
			h := &echo{}
			p := play(t, h, helper+`
				return flow{
					step("one", { retries = 5, on_fail = "`+onFail+`", `+field+` = function()
						local none
						return none.field
					end }),
					step("two", { prompt = function(ctx)
						print(ctx.one, ctx._failed_at, ctx._aborted)
						return "p"
					end }),
				}`, nil)
			errors := strings.Join(p.errors, "\n")
			if p.err != nil || !strings.Contains(errors, name+" of step one is broken: test.lua:") {
				t.Errorf("%s, %s: %v %s", name, onFail, p.err, errors)
			}
			var ran []string
			for _, line := range h.asked() {
				label, _, _ := strings.Cut(line, ":")
				ran = append(ran, label)
			}
			if name == "prompt" || name == "when" {
				want = strings.TrimPrefix(strings.TrimPrefix(want, "one"), " ")
			}
			if got := strings.Join(ran, " "); got != want || p.ending.OK != (onFail != "stop") {
				t.Errorf("%s, %s: ran %q, want %q; %+v", name, onFail, got, want, p.ending.Reason)
			}
			if onFail == "stop" && p.ending.FailedAt != "one" {
				t.Errorf("%s: failed at %q", name, p.ending.FailedAt)
			}
			value := map[string]string{"skip": "nil\tnil\tnil", "continue": "do one\tnil\tnil"}[onFail]
			if name == "prompt" || name == "when" {
				value = strings.Replace(value, "do one", "", 1) // no agent said anything
			}
			if onFail != "stop" && !strings.Contains(strings.Join(p.printed, "\n"), value) {
				t.Errorf("%s, %s: the next step saw %q, want %q", name, onFail, p.printed, value)
			}
		}
	}
}

func TestFlow_abort_in_any_callback_stops_the_step_with_its_reason(t *testing.T) {
	for name, field := range breaking {
		h := &echo{}
		p := play(t, h, helper+`
			return flow{
				step("one", { retries = 5, on_fail = "continue", `+field+` = function() flower.abort("enough") end }),
				step("two", { prompt = function(ctx) print(ctx._aborted, ctx._failed_at) return "p" end }),
			}`, nil)
		if p.err != nil || !p.ending.OK || len(h.asked()) > 2 || !strings.Contains(strings.Join(p.printed, "\n"), "enough\tnil") || len(p.errors) > 0 {
			t.Errorf("%s: %v %+v, asked %q, printed %q, %q", name, p.err, p.ending, h.asked(), p.printed, p.errors)
		}
	}
}

func TestFlow_attempts_and_their_labels(t *testing.T) {
	for name, c := range map[string]struct{ fields, want string }{
		"a reason goes on in the session": {`gate = function() return false, "more" end`, "s: do s | s#round2: more [session-1] | s#round3: more [session-1]"},
		"no reason starts over":           {`gate = function() return false end`, "s: do s | s#retry1: do s | s#retry2: do s"},
		"an empty text starts over":       {`gate = function() return false, "more" end, on_reject = function() return "" end`, "s: do s | s#retry1: do s | s#retry2: do s"},
		"on_reject is not asked at the end": {`gate = function() return false, "x" end, on_reject = function(_, ctx) ctx.n = (ctx.n or 0) + 1 assert(ctx.n < 3) return "n" .. ctx.n end`,
			"s: do s | s#round2: n1 [session-1] | s#round3: n2 [session-1]"},
		"a prompt is made once": {`prompt = function(ctx) ctx.n = (ctx.n or 0) + 1 return "n" .. ctx.n end, gate = function() return false end`,
			"s: n1 | s#retry1: n1 | s#retry2: n1"},
		"numbers are texts": {`prompt = function() return 7 end, gate = function() return false, "x" end, on_reject = function() return 8 end`,
			"s: 7 | s#round2: 8 [session-1] | s#round3: 8 [session-1]"},
	} {
		h := &echo{}
		p := play(t, h, helper+`return flow{ step("s", { retries = 2, `+c.fields+` }) }`, nil)
		if got := strings.Join(h.asked(), " | "); p.err != nil || len(p.errors) > 0 || got != c.want || p.ending.OK {
			t.Errorf("%s: %v %q\ngot  %s\nwant %s", name, p.err, p.errors, got, c.want)
		}
	}
}

func TestFlow_resume_from_continues_also_what_failed_and_never_what_is_not_there(t *testing.T) {
	h := &echo{}
	p := play(t, h, helper+`
		return flow{
			step("a", { on_fail = "skip", gate = function() return false end }),
			step("b", { resume_from = "a" }),
			step("c", { resume_from = "a", fork = true }),
			step("never", { when = function() return false end }),
			step("d", { resume_from = "never", on_fail = "skip" }),
			step("e", { prompt = function(ctx) return tostring(ctx.a) .. tostring(ctx.d) .. tostring(ctx._results.never) .. tostring(ctx._results.d) end }),
		}`, nil)
	want := "a: do a | b: do b [session-1] | c: do c [session-1] | e: nilnilnilnil"
	if got := strings.Join(h.asked(), " | "); p.err != nil || !p.ending.OK || got != want {
		t.Errorf("%v %+v\ngot  %s\nwant %s", p.err, p.ending.Reason, got, want)
	}
}

func TestFlow_steps_side_by_side_follow_their_own_on_fail(t *testing.T) {
	for onFail, ok := range map[string]bool{"skip": true, "continue": true, "stop": false} {
		h := &echo{}
		p := play(t, h, helper+`
			return flow{
				flower.parallel{
					step("left", { on_fail = "`+onFail+`", gate = function() return false, "no" end }),
					step("right", { gate = function() return true end, reduce = function() return "done" end }),
				},
				step("after", { prompt = function(ctx) return tostring(ctx.left) .. " " .. ctx.right end }),
			}`, nil)
		left := map[string]string{"skip": "nil", "continue": "do left"}[onFail]
		value, _ := p.ending.Context.Get("right")
		if p.err != nil || p.ending.OK != ok || value != "done" {
			t.Errorf("%s: %v %+v, right = %v", onFail, p.err, p.ending, value)
		}
		last := h.asked()[len(h.asked())-1]
		if ok && last != fmt.Sprintf("after: %s done", left) || !ok && (len(h.asked()) != 2 || p.ending.FailedAt != "left") {
			t.Errorf("%s: asked %q, failed at %q", onFail, h.asked(), p.ending.FailedAt)
		}
	}
}

func TestFlow_a_second_run_of_the_same_workflow_keeps_ctx_and_forgets_how_the_first_ended(t *testing.T) {
	rounds := 0
	h := &echo{reply: func(harness.Turn) string {
		rounds++
		return fmt.Sprintf("answer %d", rounds)
	}}
	p := play(t, h, helper+`
		local w
		w = flow{
			step("a", { gate = function(result, ctx)
				ctx.count = (ctx.count or 0) + 1
				ctx._goal_rounds = 7
				if ctx.count == 1 then flower.abort("the first time") end
				assert(ctx._aborted == nil and ctx._failed_at == nil and ctx.mine == "kept")
				return true
			end }),
		}
		local first = flower.run(w)
		assert(not first.ok and first.failed_at == "a" and first.aborted == "the first time" and first.context._aborted == "the first time")
		first.context.mine = "kept"
		local second = flower.run(w)
		assert(second.ok and second.failed_at == "" and second.aborted == "" and second.context == first.context and second.context.count == 2)`, nil)
	if p.err != nil || len(p.errors) > 0 || !p.ending.OK {
		t.Errorf("%v %q %+v", p.err, p.errors, p.ending)
	}
}

func TestFlow_names_that_the_runner_owns_are_refused(t *testing.T) {
	for _, name := range []string{"_runtime", "_on_event", "_sessions", "_results", "_lineage", "_woke", "_aborted", "_failed_at", "_brief", "_brief_missing",
		"_goal", "_verdict", "_goal_rounds"} {
		_, err := run(t, helper+`return flow{ step("`+name+`") }`, nil)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("steps[1].name: %q is a key of the context that the runner owns", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
