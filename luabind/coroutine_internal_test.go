package luabind

import (
	"context"
	"errors"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

func TestCoroutines_keep_to_the_rules_of_Lua(t *testing.T) {
	s := sandbox(t, nil)
	checkChunks(t, s, map[string]string{
		`local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return co(1) .. co(10)`: "220",
		`local co = coroutine.create(function() coroutine.yield(1, 2) return 3 end)
		 local a = { coroutine.resume(co) } local b = { coroutine.resume(co) } local c = { coroutine.resume(co) }
		 return #a .. #b .. tostring(c[1]) .. c[2]`: "32falsecannot resume dead coroutine",
		`local co = coroutine.create(function() error("oops") end) local ok, err = coroutine.resume(co)
		 return tostring(ok) .. err .. coroutine.status(co)`: "falseeval.lua:1: oopsdead",
		`local co = coroutine.create(function() error({ n = 7 }) end) local _, err = coroutine.resume(co) return err.n`:     "7",
		`local co = coroutine.wrap(function() error("in wrap") end) co()`:                                                   "!in wrap",
		`local co = coroutine.wrap(function() error("once") end) pcall(co) co()`:                                            "!cannot resume dead coroutine",
		`local co = coroutine.wrap(function() error({ message = "as it is" }) end) co()`:                                    "!as it is",
		`local co co = coroutine.create(function() return coroutine.resume(co) end) return select(3, coroutine.resume(co))`: "cannot resume non-suspended coroutine",
		`local a, b
		 a = coroutine.create(function() return select(2, coroutine.resume(b)) end)
		 b = coroutine.create(function() return select(2, coroutine.resume(a)) end)
		 return select(2, coroutine.resume(a))`: "cannot resume non-suspended coroutine",
		`local a, s a = coroutine.create(function() s = coroutine.status(a)
		   local b = coroutine.wrap(function() s = s .. coroutine.status(a) end) b() end)
		 local before = coroutine.status(a) coroutine.resume(a) return before .. s .. coroutine.status(a)`: "suspendedrunningnormaldead",
		`local function f() coroutine.wrap(f)() end f()`: "!too many coroutines resume each other",
		`return coroutine.running()`:                     "nil",
		`local me, co co = coroutine.create(function() me = coroutine.running() end) coroutine.resume(co) return me == co`: "true",
		`local co = coroutine.create(function() pcall(coroutine.wrap(function() error("x") end)) return coroutine.running() end)
		 local _, me = coroutine.resume(co) return me == co`: "true",
		`coroutine.yield(1)`:      "!can not yield from outside of a coroutine",
		`coroutine.create(print)`: "!function written in Lua expected",
		`local co = coroutine.wrap(function() local a, b, c = coroutine.yield() return tostring(a) .. tostring(b) .. tostring(c) end) co() return co(1)`:                 "1nilnil",
		`local co = coroutine.wrap(function() local a = coroutine.yield() local z, y = 5, 6 return tostring(a) .. z .. y end) co() return co(1, 2, 3)`:                   "156",
		`local co = coroutine.wrap(function() local function g() return coroutine.yield(1) end local a, b = g() return tostring(a) .. tostring(b) end) co() return co()`: "nilnil",
		`local co = coroutine.wrap(function() local function g() return coroutine.yield(1) end return g() end) co() return co(8)`:                                        "8",
		`local co = coroutine.wrap(function() return coroutine.yield(1) end) co() return select("#", co(8, 9))`:                                                          "2",
		`local co = coroutine.wrap(function() return coroutine.yield(1) end) co() return select("#", co())`:                                                              "0",
		`local co = coroutine.wrap(function() local t = { coroutine.yield(1) } return #t end) co() return co(8, 9)`:                                                      "2",
		`local co = coroutine.wrap(function() if coroutine.yield(1) then return "yes" end return "no" end) co() return co()`:                                             "no",
		`local co = coroutine.wrap(function() local x = 1 + coroutine.yield(1) return x end) co() return co(4, 5)`:                                                       "5",
		`local co = coroutine.wrap(function() local s = "" for i = 1, 3 do local v, w = coroutine.yield(i) s = s .. tostring(v) .. tostring(w) end return s end)
		 co() co("a") co("b", "c") return co()`: "anilbcnilnil",
		`coroutine.wrap(1)`:    "!function expected",
		`coroutine.resume({})`: "!thread expected",
		`coroutine.wrap(function() pcall(coroutine.yield) end)()`:                                  "nil",
		`coroutine.wrap(function() assert(pcall(function() coroutine.yield() end)) end)()`:         "!attempt to yield across pcall",
		`coroutine.wrap(function() table.sort({ 1, 2 }, function() coroutine.yield() end) end)()`:  "!attempt to yield across sort",
		`coroutine.wrap(function() string.gsub("a", "a", function() coroutine.yield() end) end)()`: "!attempt to yield across gsub",
		`local co = coroutine.create(function() for _ in function() coroutine.yield() end do end end)
		 return select(2, coroutine.resume(co)) .. coroutine.status(co)`: "eval.lua:1: attempt to yield in an iterator or a metamethoddead",
		`local t = setmetatable({}, { __index = function() return coroutine.yield() end })
		 local co = coroutine.create(function() return t.x end) return (coroutine.resume(co))`: "false",
		`local n = 0 for v in coroutine.wrap(function() for i = 1, 4 do coroutine.yield(i) end end) do n = n + v end return n`:                             "10",
		`local deep = coroutine.wrap(function() local function f(n) if n > 0 then f(n - 1) else coroutine.yield("deep") end end f(100) end) return deep()`: "deep",
	})
}

func TestCoroutine_goes_on_in_another_callback(t *testing.T) {
	s := sandbox(t, &Options{ComputeLimit: time.Second})
	made, err := s.eval(t, `return coroutine.create(function(a)
		while true do a = a + coroutine.yield(a) end
	end)`, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2", "3"} {
		out, err := s.eval(t, "return select(2, coroutine.resume(..., 1))", 1, made[0])
		if err != nil || out[0].String() != want {
			t.Fatalf("resumed %d: %v, %v", i, out, err)
		}
	}
}

// TestCoroutine_made_under_a_context_that_ended resumes in a call with another:
// the coroutine is stopped by the call that runs it, not by the one that made it.
func TestCoroutine_made_under_a_context_that_ended(t *testing.T) {
	s := sandbox(t, nil)
	c, err := compile("eval.lua", "return coroutine.create(function() coroutine.yield() while true do coroutine.yield(1) end end)")
	if err != nil {
		t.Fatal(err)
	}
	old, cancel := context.WithCancel(t.Context())
	made, err := s.call(old, s.L.NewFunctionFromProto(c.proto), 1)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.eval(t, "assert(coroutine.resume(...)) assert(coroutine.resume(...))", 0, made[0]); err != nil {
		t.Error(err)
	}
	stop := errors.New("stop")
	ended, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(stop)
	resume, err := compile("eval.lua", "while true do coroutine.resume(...) end")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.call(ended, s.L.NewFunctionFromProto(resume.proto), 0, made[0]); !errors.Is(err, stop) {
		t.Errorf("err = %v, want the context's cause", err)
	}
}

// TestCallback_while_a_coroutine_waits: a Go function called in a coroutine serves
// a callback, which runs on the main thread and may use coroutines of its own.
func TestCallback_while_a_coroutine_waits(t *testing.T) {
	s := sandbox(t, nil)
	inner, err := s.eval(t, `return function(outer)
		local ok, err = coroutine.resume(outer)
		assert(not ok and err == "cannot resume non-suspended coroutine", err)
		assert(coroutine.running() == nil)
		local co = coroutine.wrap(function() return coroutine.yield("inner") end)
		return co()
	end`, 1)
	if err != nil {
		t.Fatal(err)
	}
	var nested error
	s.L.SetGlobal("wait", s.L.NewFunction(func(L *lua.LState) int {
		outer := L.Get(1)
		s.block(func(ctx context.Context) {
			nested = s.callback(ctx, inner[0].(*lua.LFunction), 1,
				func() []lua.LValue { return []lua.LValue{outer} },
				func(out []lua.LValue) error {
					if out[0].String() != "inner" {
						return errors.New(out[0].String())
					}
					return nil
				})
		})
		return 0
	}))
	out, err := s.eval(t, `local co co = coroutine.create(function()
		wait(co)
		assert(coroutine.running() == co and coroutine.status(co) == "running")
		return coroutine.yield("outer")
	end)
	local _, first = coroutine.resume(co)
	local _, second = coroutine.resume(co, "done")
	return first .. second .. coroutine.status(co)`, 1)
	if err != nil || nested != nil || out[0].String() != "outerdonedead" {
		t.Errorf("%v, %v, in the callback %v", out, err, nested)
	}
}
