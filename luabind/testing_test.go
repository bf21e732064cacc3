package luabind_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/luabind"
)

// testOptions are those of a test file whose agents are real.
func testOptions(t testing.TB) luabind.TestOptions {
	return luabind.TestOptions{
		Config:  engine.Config{Store: sharedStore(t), NoRetry: true},
		Harness: func(m model.Model, _ string) harness.Harness { return native.New(native.Config{Model: m}) },
	}
}

// testFiles writes files into a folder of their own, and gives the path of the first
// one, which holds tests.
func testFiles(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// testsOf runs a file of tests.
func testsOf(t testing.TB, source string, more ...string) []luabind.Tested {
	t.Helper()
	all, err := luabind.Test(context.Background(), testFiles(t, append([]string{"a.test.lua", source}, more...)...), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// passAll expects of a file of tests that they pass, or are skipped.
func passAll(t testing.TB, source string, more ...string) {
	t.Helper()
	all := testsOf(t, source, more...)
	if len(all) == 0 {
		t.Error("no test was run")
	}
	for _, r := range all {
		if r.State == luabind.TestFailed {
			t.Errorf("%s: %s", r.Name(), told(r))
		}
	}
}

// told is a failure in a line: place: message [want|got].
func told(r luabind.Tested) string {
	f := r.Failure
	if f == nil {
		return string(r.State)
	}
	text := fmt.Sprintf("%s:%d: %s", filepath.Base(f.File), f.Line, f.Message)
	if f.Want != "" || f.Got != "" {
		text += fmt.Sprintf(" [%s|%s]", f.Want, f.Got)
	}
	return text
}

// failing runs one test with this body and gives how it failed.
func failing(t testing.TB, body string, more ...string) string {
	t.Helper()
	all := testsOf(t, "it('x', function()\n"+body+"\nend)", more...)
	if len(all) != 1 || all[0].Failure == nil {
		t.Fatalf("nothing failed in %s: %+v", body, all)
	}
	return told(all[0])
}

func TestTest_matchers_that_are_met(t *testing.T) {
	passAll(t, `
local nan = 0/0
local function loop() local a = { 1, x = { y = 2 } } a.self = a a.x.up = a return a end
it("to_be", function()
  local t = {}
  expect(t).to_be(t)
  expect(t).never.to_be({})
  expect(nan).to_be(nan)
  expect(0).to_be(-0)
  expect(nil).to_be(nil)
  expect("1").never.to_be(1)
  expect(print).to_be(print)
end)
it("to_equal", function()
  expect({}).to_equal{}
  expect({ 1, 2, { a = { nan } } }).to_equal{ 1, 2, { a = { nan } } }
  expect({ 1, nil, 3 }).to_equal{ 1, nil, 3 }
  expect({ 1, a = 2, [true] = 3, [2.5] = 4 }).to_equal{ [2.5] = 4, [true] = 3, a = 2, [1] = 1 }
  expect({ 1, 2 }).never.to_equal{ 1, 2, 3 }
  expect({ 1, 2, 3 }).never.to_equal{ 1, 2 }
  expect({ a = false }).never.to_equal{}
  expect({ a = 1 }).never.to_equal{ b = 1 }
  expect({ [1] = "x" }).never.to_equal{ ["1"] = "x" }
  expect(loop()).to_equal(loop())
  local one, two = loop(), loop()
  two.x.y = 3
  expect(one).never.to_equal(two)
  expect(setmetatable({ 1 }, { __eq = function() return false end })).to_equal{ 1 }
  expect(flower.json.decode('{"a":[],"b":[1,{"c":null}]}')).to_equal{ a = {}, b = { 1, {} } }
  expect("日本").to_equal("日本")
end)
it("to_contain", function()
  expect("a bee.").to_contain("bee.")
  expect("a-b").to_contain("-")
  expect("").to_contain("")
  expect({ "a", { n = 1 } }).to_contain{ n = 1 }
  expect({ "a" }).never.to_contain("b")
  expect({ x = "a" }).never.to_contain("a")
end)
it("to_match", function()
  expect("fix#round2").to_match("^fix#round%d+$")
  expect("fix").never.to_match("%d")
end)
it("nil, truthy, falsy", function()
  expect(nil).to_be_nil()
  expect(false).never.to_be_nil()
  expect(0).to_be_truthy()
  expect("").to_be_truthy()
  expect(false).to_be_falsy()
  expect(nil).to_be_falsy()
end)
it("to_raise", function()
  expect(function() error("oh (no)") end).to_raise("oh (no)")
  expect(function() error({ code = 7 }) end).to_raise()
  expect(function() end).never.to_raise()
  expect(function() error("x") end).never.to_raise("y")
  expect(function() flower.sh(1) end).to_raise("takes the command")
  expect(function() local x = nil; return x.y end).to_raise("attempt to index")
  local err = expect(function() error({ code = 7 }) end).to_raise()
  expect(err.code).to_be(7)
  expect(coroutine.wrap(function() error("in a coroutine") end)).to_raise("in a coroutine")
end)
it("in a coroutine", function()
  coroutine.wrap(function() expect(1).to_be(1) end)()
end)
`)
}

func TestTest_matchers_that_are_not_met(t *testing.T) {
	for body, want := range map[string]string{
		`expect(1).to_be(2)`:                                                "a.test.lua:2: expected the same value [2|1]",
		`expect("1").to_be(1)`:                                              `a.test.lua:2: expected the same value [1|"1"]`,
		`expect(0.1 + 0.2).to_be(0.3)`:                                      "a.test.lua:2: expected the same value [0.3|0.30000000000000004]",
		`expect({ 1 }).to_be({ 1 })`:                                        "a.test.lua:2: expected the very same table; to_equal compares what is in it [{ 1 }|{ 1 }]",
		`expect(2).never.to_be(2)`:                                          "a.test.lua:2: expected another value [|2]",
		`expect(false, "the reason").to_be(true)`:                           "a.test.lua:2: expected the same value: the reason [true|false]",
		`expect(flower.fs.read("none.txt")).to_be("x")`:                     `a.test.lua:2: expected the same value: none.txt: no such file or directory ["x"|nil]`,
		`expect({ a = { 1, { b = 2 } } }).to_equal{ a = { 1, { b = 3 } } }`: "a.test.lua:2: expected an equal value; they differ at a[2].b [{ a = { 1, { b = 3 } } }|{ a = { 1, { b = 2 } } }]",
		`expect({ 1, 2 }).to_equal{ 1 }`:                                    "a.test.lua:2: expected an equal value; they differ at [2] [{ 1 }|{ 1, 2 }]",
		`expect({ ["a b"] = 1 }).to_equal{}`:                                `a.test.lua:2: expected an equal value; they differ at ["a b"] [{}|{ ["a b"] = 1 }]`,
		`expect(nil).to_equal{}`:                                            "a.test.lua:2: expected an equal value [{}|nil]",
		`expect({ 1 }).never.to_equal{ 1 }`:                                 "a.test.lua:2: expected a value that is not equal [|{ 1 }]",
		`expect("a\tb\n").to_be("a b")`:                                     `a.test.lua:2: expected the same value ["a b"|"a\tb\n"]`,
		`expect("a\nb").to_be("a\nc\n")`:                                    "a.test.lua:2: expected the same value [a\nc\n|a\nb]",
		`expect("bee").to_contain("wasp")`:                                  `a.test.lua:2: expected a text that contains another ["wasp"|"bee"]`,
		`expect("bee").never.to_contain("be")`:                              `a.test.lua:2: expected a text that does not contain another ["be"|"bee"]`,
		`expect({ "a" }).to_contain("b")`:                                   `a.test.lua:2: expected a list that contains a value ["b"|{ "a" }]`,
		`expect(nil).to_contain("b")`:                                       "a.test.lua:2: expected a text or a list to look into [|nil]",
		`expect(nil).never.to_contain("b")`:                                 "a.test.lua:2: expected a text or a list to look into [|nil]",
		`expect("bee").to_contain(1)`:                                       "a.test.lua:2: to_contain looks for a text in a text, not for a number",
		`expect("fix").to_match("%d")`:                                      `a.test.lua:2: expected a text that matches a pattern ["%d"|"fix"]`,
		`expect(1).to_match("%d")`:                                          "a.test.lua:2: expected a text to match [|1]",
		`expect(1).to_be_nil()`:                                             "a.test.lua:2: expected nil [|1]",
		`expect(nil).never.to_be_nil()`:                                     "a.test.lua:2: expected a value, not nil [|nil]",
		`expect(nil).to_be_truthy()`:                                        "a.test.lua:2: expected neither nil nor false [|nil]",
		`expect(0).to_be_falsy()`:                                           "a.test.lua:2: expected nil or false [|0]",
		`expect(function() end).to_raise("x")`:                              `a.test.lua:2: expected an error ["x"|no error]`,
		`expect(function() error("a", 0) end).to_raise("b")`:                `a.test.lua:2: expected an error that contains a text ["b"|a]`,
		`expect(function() error("a", 0) end).never.to_raise()`:             "a.test.lua:2: expected no error [|a]",
		`expect(1).to_raise()`:                                              "a.test.lua:2: expected a function to call [|1]",
		`expect(1).to_eqal(1)`:                                              `a.test.lua:2: expect has no "to_eqal" — did you mean "to_equal"?`,
		`expect(1):to_be(1)`:                                                "a.test.lua:2: call matchers with a dot: expect(value).to_be(…)",
		`expect(1).to_be()`:                                                 "a.test.lua:2: to_be takes one value; it was given nothing",
		`expect(1).to_be_nil(1)`:                                            "a.test.lua:2: to_be_nil takes nothing; it was given a number",
		`expect(1)`:                                                         "a.test.lua:2: this expect is followed by no matcher, such as .to_be(…)",
		`local e = expect(1).never`:                                         "a.test.lua:2: this expect is followed by no matcher, such as .to_be(…)",
		`pcall(function() expect(1).to_be(2) end)`:                          "a.test.lua:2: expected the same value [2|1]",
		`local t = {} t.t = t expect(t).to_be(1)`:                           "a.test.lua:2: expected the same value [1|{ t = <a table around it> }]",
		`expect(function() end).to_be(1)`:                                   "a.test.lua:2: expected the same value [1|function of a.test.lua:2]",
		`expect("a\226\128\174b\1\255").to_be("x")`:                         `a.test.lua:2: expected the same value ["x"|"a\u{202e}b\001\255"]`,
		`expect(("x\n"):rep(100000)).to_be(("x\n"):rep(100000) .. "y")`:     "a.test.lua:2: expected the same value [... 99997 lines alike\nx\nx\nx\ny|... 99997 lines alike\nx\nx\nx\n]",
		`error("by hand")`:                                                  "a.test.lua:2: by hand",
		`error({ message = "a table" })`:                                    "a.test.lua:2: a table",
		`flower.nothing()`:                                                  `a.test.lua:2: flower has no "nothing"`,
	} {
		if got := failing(t, body); strings.ReplaceAll(got, t.TempDir(), "") != want {
			if !strings.HasPrefix(body, `expect(function() end).to_be`) || !strings.Contains(got, "a.test.lua:2]") {
				t.Errorf("%s\n got %s\nwant %s", body, got, want)
			}
		}
	}
}

func TestTest_hooks_go_from_outside_in_and_back(t *testing.T) {
	passAll(t, `
local log = {}
local function note(text) return function() log[#log + 1] = text end end
before_each(note("b1"))
before_each(note("b2"))
after_each(function()
  log[#log + 1] = "a1"
  expect(table.concat(log, " ")).to_match("^b1 b2 .*a1$")
  print(table.concat(log, " "))
end)
describe("outer", function()
  after_each(note("outer after"))
  describe("inner", function()
    it("one", note("test"))
    before_each(note("inner before"))
    after_each(note("inner after 1"))
    after_each(note("inner after 2"))
  end)
  it("two", note("test"))
  before_each(note("outer before"))
end)
it("three", note("test"))
`)
	all := testsOf(t, `
local log = {}
local function note(text) return function() log[#log + 1] = text end end
after_each(function() print(table.concat(log, " ")) end)
describe("outer", function()
  after_each(note("oa"))
  describe("inner", function()
    it("one", note("t"))
    before_each(note("ib"))
    after_each(note("ia1"))
    after_each(note("ia2"))
  end)
  it("two", note("t"))
  before_each(note("ob"))
end)
it("three", note("t"))
`)
	var got []string
	for _, r := range all {
		got = append(got, r.Name()+": "+strings.Join(r.Printed, ","))
	}
	want := []string{"outer > inner > one: ob ib t ia2 ia1 oa", "outer > two: ob t oa", "three: t"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTest_hooks_after_run_also_when_something_failed(t *testing.T) {
	all := testsOf(t, `
after_each(function() print("tidy") end)
it("fails", function() error("first") end)
describe("hooks", function()
  before_each(function() error("in before") end)
  it("is not reached", function() print("reached") end)
end)
describe("more", function()
  after_each(function() error("in after") end)
  it("passes but for its hook", function() end)
  it("fails and its hook too", function() error("the first one") end)
end)
`)
	var got []string
	for _, r := range all {
		got = append(got, told(r)+" "+strings.Join(r.Printed, ","))
	}
	want := []string{
		"a.test.lua:3: first tidy", "a.test.lua:5: in before tidy", "a.test.lua:9: in after tidy", "a.test.lua:11: the first one tidy",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTest_nothing_leaks_from_test_to_test(t *testing.T) {
	all := testsOf(t, `
local seen = {}
local lib = require("lib")
local function check()
  expect(seen.x).to_be_nil()
  expect(leak).to_be_nil()
  expect(lib.x).to_be_nil()
  expect(flower.fs.list(".")).to_equal{ "start.txt" }
  seen.x, leak, lib.x = 1, 1, 1
  flower.fs.write("left.txt", "x")
  flower.test.stub{ sh = function() return { output = "stub" } end }
end
flower.test.files{ ["start.txt"] = "s" }
it("one", check)
it("two", check)
it("three", function() expect(flower.sh("echo real").output).to_be("real\n") check() end)
`, "lib.lua", "return {}")
	for _, r := range all {
		if r.State != luabind.TestPassed {
			t.Errorf("%s: %s", r.Name(), told(r))
		}
	}
}

func TestTest_leaves_nothing_behind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	all := testsOf(t, `
it("makes a folder nobody may write to", function()
  flower.fs.write("d/e.txt", "x")
  flower.sh("chmod 500 d; sleep 300 >/dev/null 2>&1 & echo $! >pid; disown 2>/dev/null")
  print(flower.fs.read("pid"))
  error("and fails")
end)`)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "flower-test-") {
			t.Errorf("left: %s", e.Name())
		}
	}
	pid := strings.TrimSpace(strings.Join(all[0].Printed, ""))
	if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && pid != "" && !strings.Contains(string(state), ") Z ") {
		t.Errorf("process %s is left: %s", pid, state)
	}
}

func TestTest_files_that_cannot_be_run(t *testing.T) {
	for source, want := range map[string]string{
		"it('x' function() end)":                            `a.test.lua:1: syntax error near "function"`,
		"local x = nil\nlocal y = x.z":                      "a.test.lua:2: attempt to index a nil value (local 'x') with key 'z'",
		"describe('d', function()\n  error('inside')\nend)": "a.test.lua:2: inside",
		"local a = 1":                                 `a.test.lua:0: holds no tests; a test is it("what it shows", function() … end)`,
		"it('x')":                                     "a.test.lua:1: it takes a name and a function; it was given a string",
		"it('', function() end)":                      "a.test.lua:1: it takes a name and a function; it was given a string, a function",
		"it.only('x', function() end)":                `a.test.lua:1: it has no "only"`,
		"describe(function() end)":                    "a.test.lua:1: describe takes a name and a function; it was given a function",
		"before_each('x')":                            "a.test.lua:1: before_each takes a function; it was given a string",
		"expect(1).to_be(2)\nit('x', function() end)": "a.test.lua:1: expected the same value [2|1]",
		"while true do end":                           "a.test.lua:1: the script computed for 200ms without a call into the engine and was stopped: is there a loop without an end?",
	} {
		o := testOptions(t)
		o.Options.ComputeLimit = 200 * time.Millisecond
		all, err := luabind.Test(context.Background(), testFiles(t, "a.test.lua", source), o)
		if err != nil || len(all) != 1 || all[0].Names != nil || all[0].State != luabind.TestFailed {
			t.Errorf("%q: %+v, %v", source, all, err)
			continue
		}
		if got := told(all[0]); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestTest_what_cannot_stand_inside_a_test(t *testing.T) {
	for _, call := range []string{"it('y', function() end)", "it.skip('y')", "describe('y', function() end)", "before_each(function() end)", "after_each(function() end)"} {
		if got := failing(t, call); !strings.Contains(got, "cannot stand inside a test") {
			t.Errorf("%s: %s", call, got)
		}
	}
}

func TestTest_one_that_hangs_fails_and_the_others_run(t *testing.T) {
	o := testOptions(t)
	o.Options.ComputeLimit, o.Timeout = 300*time.Millisecond, time.Second
	all, err := luabind.Test(context.Background(), testFiles(t, "a.test.lua", `
after_each(function() print("tidied") end)
it("computes", function() while true do pcall(function() while true do end end) end end)
it("waits", function() flower.sh("sleep 100") end)
it("waits for a person", function()
  flower.test.stub{ model = function() return { tool = "Bash", input = { command = "sleep 100" } } end }
  flower.runtime:run(flower.agent{ name = "a", allowed_tools = { "Bash" } }, "go")
end)
it("grows", function() local t = {} while true do t[#t + 1] = { t } end end)
it("works", function() end)
`), o)
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v %v", all, err)
	}
	for i, want := range []string{"computed for 300ms", "took longer than 1s", "took longer than 1s", "", "passed"} {
		if got := told(all[i]); !strings.Contains(got, want) || i == 3 && all[i].State != luabind.TestFailed {
			t.Errorf("%s: %s", all[i].Name(), got)
		}
		if !slices.Equal(all[i].Printed, []string{"tidied"}) {
			t.Errorf("%s: printed %q", all[i].Name(), all[i].Printed)
		}
	}
}

func TestTest_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	o := testOptions(t)
	o.OnTest = func(r luabind.Tested) { cancel(stop) }
	all, err := luabind.Test(ctx, testFiles(t, "a.test.lua", `
it("one", function() end)
it("two", function() flower.sh("sleep 100") end)
`), o)
	if !errors.Is(err, stop) || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTest_chooses_by_name_and_tells_in_order(t *testing.T) {
	o := testOptions(t)
	var told, read []string
	o.Wanted = func(name string) bool { return strings.Contains(name, "größe > ") }
	o.OnTest = func(r luabind.Tested) { told = append(told, fmt.Sprint(r.Line, " ", r.State, " ", r.Name())) }
	o.OnRead = func(path string) { read = append(read, filepath.Base(path)) }
	all, err := luabind.Test(context.Background(), testFiles(t, "a.test.lua", `
local lib = require("lib")
it("other", function() end)
describe("größe", function()
  it("日本", function() flower.test.load("s.lua") end)
  it.skip("later")
  it("日本", function() error("the same name") end)
end)`, "lib.lua", "return {}", "s.lua", "return nil"), o)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	if want := []string{"5 passed größe > 日本", "6 skipped größe > later", "7 failed größe > 日本"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	for _, name := range []string{"a.test.lua", "lib.lua", "s.lua"} {
		if !slices.Contains(read, name) {
			t.Errorf("%s was read without a word; told of %q", name, read)
		}
	}
}

func TestTest_a_file_that_names_other_tests_each_time(t *testing.T) {
	all := testsOf(t, `
it("first", function() end)
it("at " .. math.random(), function() end)`)
	if len(all) != 2 || !strings.Contains(told(all[1]), "must name the same ones each time") {
		t.Errorf("%s", told(all[1]))
	}
}

func TestTest_needs_a_store_and_a_harness(t *testing.T) {
	_, err := luabind.Test(context.Background(), "a.test.lua", luabind.TestOptions{})
	if err == nil || !strings.Contains(err.Error(), "Harness") {
		t.Error(err)
	}
}
