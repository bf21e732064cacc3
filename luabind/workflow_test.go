package luabind_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/luabind"
)

// helper is the beginning of a script with an agent and a short way to steps.
const helper = `
local a = flower.agent{ name = "a" }
local function step(name, t)
	t = t or {}
	t.name, t.spec, t.prompt = name, t.spec or a, t.prompt or "do " .. name
	return flower.step(t)
end
local function flow(steps, t)
	t = t or {}
	t.steps = steps
	return flower.workflow(t)
end
`

// playFlow plays a script that begins with helper and must not err.
func playFlow(t *testing.T, h *echo, source string) played {
	t.Helper()
	p := play(t, h, helper+source, nil)
	if p.err != nil || len(p.errors) > 0 {
		t.Fatalf("%v %q", p.err, p.errors)
	}
	return p
}

func sameLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestGate_passes_on_true_and_sends_its_reason_back_on_false(t *testing.T) {
	h := &echo{}
	p := playFlow(t, h, `
		local rounds = 0
		return flow{ step("fix", { retries = 3, gate = function(result, ctx)
			rounds = rounds + 1
			assert(result.ok and result.step:find("fix", 1, true) == 1 and result.session_id == "session-1" and result.stop == "end_turn")
			assert(ctx.fix == nil and ctx._runtime.id ~= nil)
			return rounds == 3, "round " .. rounds .. " was not enough"
		end }) }`)
	sameLines(t, "asked", h.asked(), "fix: do fix", "fix#round2: round 1 was not enough [session-1]", "fix#round3: round 2 was not enough [session-1]")
	if value, _ := p.ending.Context.Get("fix"); !p.ending.OK || value != "round 2 was not enough" {
		t.Errorf("%v, %+v", value, p.ending)
	}
}

func TestOnReject_makes_what_is_sent_back(t *testing.T) {
	h := &echo{}
	p := playFlow(t, h, `
		return flow{
			step("one", { retries = 1, on_fail = "continue",
				gate = function() return false, "why" end,
				on_reject = function(result, ctx, reason)
					ctx.seen = result.text .. "/" .. reason
					return "Again, because " .. reason
				end }),
			step("two", { retries = 1, on_fail = "skip",
				gate = function() return false end,
				on_reject = function(result, ctx, reason) assert(reason == "") return "" end }),
		}`)
	sameLines(t, "asked", h.asked(), "one: do one", "one#round2: Again, because why [session-1]", "two: do two", "two#retry1: do two")
	seen, _ := p.ending.Context.Get("seen")
	one, _ := p.ending.Context.Get("one")
	_, two := p.ending.Context.Get("two")
	if seen != "do one/why" || one != "Again, because why" || two {
		t.Errorf("seen %v, one %v, two is there: %v", seen, one, two)
	}
}

func TestReduce_makes_what_the_context_keeps(t *testing.T) {
	p := playFlow(t, &echo{}, `
		return flow{
			step("one", { reduce = function(result, ctx) return tostring(#result.text) end }),
			step("two", { prompt = function(ctx) return "got " .. ctx.one end }),
		}`)
	if two, _ := p.ending.Context.Get("two"); two != "got 6" {
		t.Errorf("two = %v", two)
	}
}

func TestWhen_decides_whether_a_step_runs(t *testing.T) {
	h := &echo{}
	p := playFlow(t, h, `
		return flow({
			step("one", { when = function(ctx) return ctx.wanted end }),
			step("two", { when = function(ctx) return not ctx.wanted end }),
			step("three", { when = function(ctx) return ctx.one ~= nil and ctx.two == nil end }),
		}, { context = { wanted = true } })`)
	sameLines(t, "asked", h.asked(), "one: do one", "three: do three")
	if _, there := p.ending.Context.Get("two"); there || !p.ending.OK {
		t.Errorf("two left a value; %+v", p.ending)
	}
}

func TestPrompts_are_texts_or_functions(t *testing.T) {
	h := &echo{}
	playFlow(t, h, `
		return flow{
			step("plain", { resume_prompt = "not for a new session" }),
			step("made", { prompt = function(ctx) return "after " .. ctx.plain end }),
			step("again", { resume_from = "plain", resume_prompt = "go on" }),
			step("woken", { resume_from = "made", fork = true, resume_prompt = function(ctx) return "run " .. ctx._woke end }),
		}`)
	sameLines(t, "asked", h.asked(),
		"plain: do plain", "made: after do plain", "again: go on [session-1]", "woken: run 1 [session-2]")
}

func TestOnStep_is_told_of_every_step_that_ran(t *testing.T) {
	p := playFlow(t, &echo{}, `
		return flow({
			step("one"),
			step("skipped", { when = function() return false end }),
			step("two", { on_fail = "skip", gate = function() return false, "no" end }),
		}, { on_step = function(name, result) print(name, result.text, result.num_turns) end })`)
	sameLines(t, "printed", p.printed[:2], "one\tdo one\t1", "two\tdo two\t1")
}

func TestContext_is_the_live_table(t *testing.T) {
	p := playFlow(t, &echo{}, `
		local mine = { count = 0 }
		mine.add = function(n) mine.count = mine.count + n end
		return flow({
			step("one", { gate = function(_, ctx)
				assert(ctx == mine)
				ctx.add(2)
				ctx.note = { list = { 1, 2 }, say = function() return "said" end }
				return true
			end }),
			step("two", { prompt = function(ctx)
				ctx.add(3)
				return ctx.note.say() .. #ctx.note.list .. ctx.count .. ctx.one
			end }),
		}, { context = mine })`)
	if two, _ := p.ending.Context.Get("two"); two != "said25do one" {
		t.Errorf("two = %v", two)
	}
	if count, _ := p.ending.Context.Get("count"); count != 5.0 {
		t.Errorf("count = %v", count)
	}
	if note, ok := p.ending.Context.Get("note"); !ok || note == nil {
		t.Errorf("note = %v, %v", note, ok)
	}
	if keys := p.ending.Context.Keys(); !slices.Contains(keys, "add") || !slices.IsSorted(keys) {
		t.Errorf("keys %v", keys)
	}
}

func TestContext_shows_what_the_runner_owns_and_copies_stay_copies(t *testing.T) {
	playFlow(t, &echo{}, `
		return flow{
			step("one"),
			step("two", { prompt = function(ctx)
				assert(ctx._sessions.one == "session-1" and ctx._results.one.text == "do one" and ctx._woke == 1)
				ctx._results.one.text = "changed"
				ctx._sessions.one = "changed"
				ctx._on_event{ kind = "task", text = "from the script", payload = { n = 1 } }
				return "p"
			end }),
			step("three", { prompt = function(ctx)
				assert(ctx._sessions.one == "session-1" and ctx._results.one.text == "do one")
				assert(ctx._results.two.usage.main.turns == 0)
				return "p"
			end }),
		}`)
}

func TestOnEvent_refuses_what_is_no_event(t *testing.T) {
	p := play(t, &echo{}, helper+`
		return flow{ step("one", { prompt = function(ctx)
			local function fails(event, part)
				local ok, err = pcall(ctx._on_event, event)
				assert(not ok and tostring(err):find(part, 1, true), tostring(err))
			end
			fails("text", "an event is a table")
			fails({ knd = "task" }, 'did you mean "kind"')
			fails({ payload = { 1, 2 } }, "payload: must be a table of values by name")
			fails({ payload = { print } }, "not plain data")
			return "p"
		end }) }`, nil)
	if p.err != nil || !p.ending.OK {
		t.Errorf("%v %+v", p.err, p.ending)
	}
}

// TestContext_is_restored_after_a_run_that_did_not_reach_its_end: the values, not
// the functions, come back; the steps that passed do not run again.
func TestContext_is_restored_after_a_run_that_did_not_reach_its_end(t *testing.T) {
	dir := t.TempDir()
	source := helper + `
		return flow({
			step("one", { gate = function(_, ctx)
				ctx.list, ctx.object, ctx.empty, ctx.fn = { 1, "two", true }, { a = { b = 0.5 } }, {}, print
				return true
			end }),
			step("two", { prompt = function(ctx)
				return ctx.one .. #ctx.list .. ctx.list[2] .. ctx.object.a.b .. type(ctx.empty) .. type(ctx.fn)
			end, gate = function() return flower.fs.exists("mended"), "mend me" end }),
		}, { name = "restored" })`
	h := &echo{}
	if p := playIn(t, dir, h, source, nil); p.err != nil || p.ending.FailedAt != "two" {
		t.Fatalf("%v %+v", p.err, p.ending)
	}
	if err := os.WriteFile(filepath.Join(dir, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := playIn(t, dir, h, source, nil)
	if p.err != nil || !p.ending.OK {
		t.Fatalf("%v %+v", p.err, p.ending)
	}
	sameLines(t, "asked", h.asked(), "one: do one", "two: do one3two0.5tablefunction", "two: do one3two0.5tablenil")
}

func TestAbort_ends_the_step_whatever_catches_it_not(t *testing.T) {
	p := play(t, &echo{}, helper+`
		local caught
		return flow({
			step("one", { retries = 3, on_fail = "skip", gate = function() flower.abort("no use") end }),
			step("two", { gate = function(_, ctx)
				assert(ctx._aborted == "no use")
				local ok, err = pcall(flower.abort, "caught")
				assert(not ok and err.code == "abort" and err.message == "caught")
				return true
			end }),
			step("three", { prompt = function() error({ code = "abort", message = "by hand" }) end }),
		})`, nil)
	if p.err != nil || p.ending.OK || p.ending.FailedAt != "three" || p.ending.Reason != "by hand" || p.ending.Aborted != "by hand" {
		t.Errorf("%v %+v", p.err, p.ending)
	}
	if len(p.ending.Results) != 2 {
		t.Errorf("%d attempts, want one each of two steps", len(p.ending.Results))
	}
}

// TestCallbacks_nest: a gate runs a judge; the judge's harness asks a guard in
// Lua, on another goroutine, while the gate waits; the guard waits for a command.
func TestCallbacks_nest(t *testing.T) {
	h := &echo{}
	h.reply = func(turn harness.Turn) string {
		if turn.Step != "judge" {
			return "work"
		}
		return turn.Guards.Before(context.Background(), guard.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}).Reason
	}
	p := playFlow(t, h, `
		local order = {}
		local watched = flower.agent{ name = "judge", allowed_tools = { "Bash" }, hooks = { flower.guard{ on = "before", match = "Bash", check = function(call)
			order[#order + 1] = "guard " .. call.tool
			local out = flower.sh("echo from the guard").output
			local co = coroutine.wrap(function() return coroutine.yield(out) end)
			return false, co()
		end } } }
		return flow{ step("one", { gate = function(result, ctx)
			order[#order + 1] = "gate"
			local verdict = ctx._runtime:run(watched, "Judge: " .. result.text, { step_name = "judge" })
			order[#order + 1] = "back"
			ctx.order = table.concat(order, ",")
			return verdict.text:find("from the guard", 1, true) ~= nil, verdict.text
		end }) }`)
	if order, _ := p.ending.Context.Get("order"); order != "gate,guard Bash,back" || !p.ending.OK {
		t.Errorf("order %v, %+v", order, p.ending)
	}
}

func TestRun_may_be_called_twice_and_ends_with_the_last(t *testing.T) {
	h := &echo{}
	p := playFlow(t, h, `
		local w = flow({ step("one", { gate = function(_, ctx) ctx.n = (ctx.n or 0) + 1 return ctx.n < 3, "thrice" end }) }, { name = "w", continuous = false })
		local first = flower.run(w)
		assert(first.ok and first.context.n == 1 and first.failed_at == "" and first.cost_usd == 0)
		local second = flower.run(w)
		assert(second.ok and second.context.n == 2 and second.context == first.context)
		local third = flower.run(w)
		assert(not third.ok and third.failed_at == "one" and third.reason:find("thrice"))`)
	if p.ending.OK || p.ending.FailedAt != "one" || len(h.asked()) != 3 {
		t.Errorf("%+v, asked %v", p.ending, h.asked())
	}
}

func TestScript_without_a_workflow_ends_well(t *testing.T) {
	p := playFlow(t, &echo{}, `
		local r = flower.runtime:run(a, "hello")
		assert(r.ok and r.text == "hello" and r.step == "a")
		local again = flower.runtime:run(a, "more", { resume = r.session_id, step_name = "named" })
		assert(again.session_id == r.session_id and again.step == "named")
		assert(flower.runtime:interrupt() == false and flower.runtime:interrupt("words") == false)
		assert(tostring(flower.runtime) == "runtime " .. flower.runtime.id)
		print(flower.runtime.workspace == flower.runtime.run_dir:gsub("/runs$", ""), flower.runtime.manifest:match("[^/]+$"))`)
	sameLines(t, "printed", p.printed, "true\tmanifest.json")
	if !p.ending.OK || len(p.ending.Results) != 2 || p.ending.CostUSD == nil {
		t.Errorf("%+v", p.ending)
	}
}

func TestRun_reports_an_engine_that_cannot(t *testing.T) {
	p := play(t, &echo{}, helper+`
		local ok, err = pcall(function() return flower.runtime:run(flower.agent{ name = "b", max_budget_usd = 1 }, "p", { fork = true }) end)
		assert(not ok and err.code == "engine" and err.where:find("test.lua:", 1, true), tostring(err))
		return flow{ step("one") }`, &luabind.Options{From: "nowhere"})
	if p.err == nil || !strings.Contains(p.err.Error(), `no step is called "nowhere"`) {
		t.Errorf("err = %v", p.err)
	}
}

func TestOptions_Fresh_and_From_reach_the_workflow(t *testing.T) {
	dir, h := t.TempDir(), &echo{}
	source := helper + `return flow({ step("one"), step("two") }, { name = "w" })`
	for _, o := range []*luabind.Options{nil, {Fresh: true}, {From: "two"}} {
		if p := playIn(t, dir, h, source, o); p.err != nil || !p.ending.OK {
			t.Fatalf("%v %+v", p.err, p.ending)
		}
	}
	if got := len(h.asked()); got != 4 && got != 5 {
		t.Errorf("asked %v", h.asked())
	}
	if slices.ContainsFunc(h.asked()[2:4], func(line string) bool { return strings.Contains(line, "[") }) {
		t.Errorf("fresh continued a session: %v", h.asked())
	}
}

func TestRun_stopped_from_outside_says_so_and_on_step_still_comes(t *testing.T) {
	stop := errors.New("stopped by a person")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	h := &echo{reply: func(harness.Turn) string { cancel(stop); return "late" }}
	rt, seen := newRuntime(t, h)
	program, err := luabind.Load("test.lua", helper+`
		return flow({ step("one", { gate = function() return true end }), step("two") },
			{ on_step = function(name) flower.sh("true") print("told of " .. name) end })`, nil)
	if err != nil {
		t.Fatal(err)
	}
	ending, err := program.Run(ctx, rt, nil)
	rt.Close()
	if err != nil || !ending.Interrupted {
		t.Errorf("%v %+v", err, ending)
	}
	if got := seen.texts(event.Task); len(got) > 1 {
		t.Errorf("printed %q", got)
	}
}

func TestProgram_runs_many_times_at_once(t *testing.T) {
	program, err := luabind.Load("test.lua", helper+`
		n = (n or 0) + 1
		assert(n == 1, "a global of another run")
		return flow{ step("one", { gate = function(result) for i = 1, 1000 do result.text = result.text .. "" end return true end }) }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 8 {
		rt, _ := newRuntime(t, &echo{})
		go func() {
			ending, err := program.Run(context.Background(), rt, nil)
			if err == nil && !ending.OK {
				err = errors.New(ending.Reason)
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestRun_in_a_workspace_that_is_gone_is_an_error(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	rt, _ := runtimeIn(t, dir, &echo{})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	program, err := luabind.Load("test.lua", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.Run(context.Background(), rt, nil); err == nil || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("err = %v", err)
	}
}

func TestErrors_carry_what_a_program_needs(t *testing.T) {
	p := play(t, &echo{}, "local function f()\n  error('x')\nend\nlocal function g() local r = f() return r end\nlocal x = g()", nil)
	var e *luabind.Error
	if !errors.As(p.err, &e) || e.File != "test.lua" || e.Line != 2 || e.Message != "x" || e.Error() != "test.lua:2: x" {
		t.Fatalf("%#v", p.err)
	}
	if trace := e.Backtrace(); !strings.Contains(trace, "test.lua:4") || !strings.Contains(trace, "test.lua:5") {
		t.Errorf("backtrace %s", trace)
	}
	p = play(t, &echo{}, "flower.abort('enough')", nil)
	var aborted *engine.AbortError
	if !errors.As(p.err, &aborted) || aborted.Reason != "enough" {
		t.Errorf("%#v", p.err)
	}
	var mistakes *luabind.Mistakes
	p = play(t, &echo{}, "flower.workflow{ nme = 1, steps = {} }", nil)
	if !errors.As(p.err, &mistakes) || len(mistakes.List) != 2 || mistakes.List[0].File != "test.lua" || strings.Count(p.err.Error(), "\n") != 1 {
		t.Errorf("%#v", p.err)
	}
}

func TestMistakes_are_not_without_end(t *testing.T) {
	start := time.Now()
	p := play(t, &echo{}, `
		local fields = {}
		for i = 1, 20000 do fields["field" .. i] = i end
		fields.steps = {}
		for i = 1, 9000 do fields.steps[i] = i end
		return flower.workflow(fields)`, nil)
	var mistakes *luabind.Mistakes
	if !errors.As(p.err, &mistakes) || len(mistakes.List) > 50 {
		t.Errorf("%T, %v", p.err, time.Since(start))
	}
	p = play(t, &echo{}, helper+`
		local one, steps = step("one"), {}
		for i = 1, 20000 do steps[i] = one end
		return flow(steps)`, nil)
	if !errors.As(p.err, &mistakes) || !strings.Contains(p.err.Error(), "holds 20000 steps; a workflow may have 10000") {
		t.Errorf("%v", p.err)
	}
}

func TestRun_leaves_no_goroutine(t *testing.T) {
	for _, source := range []string{
		`return flow{ step("one", { gate = function(_, ctx) flower.sh("true") return ctx._runtime:run(a, "judge").ok end }) }`,
		`local co = coroutine.create(function() flower.sh("true") coroutine.yield() end) coroutine.resume(co)`,
		`while true do end`,
		`local function f() return 1 + f() end f()`,
		`flower.fs.write("x", "y") flower.fs.read("x") flower.fs.glob("**") error("stop")`,
	} {
		play(t, &echo{}, helper+source, &luabind.Options{ComputeLimit: 50 * time.Millisecond})
	}
	if left := leftovers(); left != "" {
		t.Error(left)
	}
}
