package luabind_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/luabind"
)

type ticket struct {
	ID     int               `json:"id"`
	Title  string            `json:"title"`
	Tags   []string          `json:"tags"`
	Fields map[string]string `json:"fields,omitempty"`
	Parent *ticket           `json:"parent,omitempty"`
}

type level string

type hidden struct{ C chan int }

func goModule() luabind.Module {
	return luabind.Module{Name: "host", Functions: map[string]any{
		"text":     func(s string) string { return s + "!" },
		"named":    func(l level) level { return l },
		"bytes":    func(b []byte) []byte { return append(b, 0xFF) },
		"boolean":  func(b bool) bool { return !b },
		"int":      func(n int) int { return n },
		"int8":     func(n int8) int8 { return n },
		"uint16":   func(n uint16) uint16 { return n },
		"float":    func(f float64) float64 { return f * 2 },
		"float32":  func(f float32) float32 { return f },
		"list":     func(l []string) int { return len(l) },
		"numbers":  func(l []float64) float64 { return l[0] + l[1] },
		"map":      func(m map[string]int) int { return m["a"] + m["b"] },
		"struct":   func(t ticket) ticket { return t },
		"pointer":  func(t *ticket) bool { return t == nil },
		"any":      func(v any) any { return v },
		"raw":      func(v json.RawMessage) string { return string(v) },
		"duration": func(d time.Time) string { return d.Format(time.RFC3339) },
		"nothing":  func() {},
		"fails":    func() error { return errors.New("it failed") },
		"maybe": func(ok bool) (*ticket, error) {
			if !ok {
				return nil, errors.New("no ticket")
			}
			return &ticket{ID: 7}, nil
		},
		"none":    func() any { return nil },
		"panics":  func() string { panic("on purpose") },
		"nan":     func() float64 { return math.NaN() },
		"channel": func() hidden { return hidden{} },
		"context": func(ctx context.Context, s string) (string, error) { return s, ctx.Err() },
		"wait": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"two": func(a, b string) string { return a + b },
	}}
}

func TestModule_takes_and_gives_every_kind(t *testing.T) {
	p := play(t, &echo{}, `
		local host = require("host")
		assert(host.text("x") == "x!" and host.text("\255\0") == "\255\0!" and host.named("high") == "high")
		assert(host.bytes("\0\254") == "\0\254\255" and host.boolean(true) == false)
		assert(host.int(-5) == -5 and host.int(2^53) == 2^53 and host.int8(-128) == -128 and host.uint16(65535) == 65535)
		assert(host.float(0.25) == 0.5 and host.float(math.huge) == math.huge and host.float32(0.5) == 0.5)
		assert(host.list({ "a", "b" }) == 2 and host.list({}) == 0 and host.list() == 0 and host.list(nil) == 0)
		assert(host.numbers({ 1, 2.5 }) == 3.5 and host.map({ a = 1, b = 2 }) == 3 and host.map({}) == 0)
		local t = host.struct({ id = 3, title = "T", tags = { "x" }, fields = { k = "v" }, parent = { id = 2, tags = {} } })
		assert(t.id == 3 and t.title == "T" and t.tags[1] == "x" and t.fields.k == "v" and t.parent.id == 2)
		assert(host.pointer() == true and host.pointer(nil) == true and host.pointer({ id = 1 }) == false)
		local any = host.any({ a = { 1, "two", true }, b = {} })
		assert(any.a[2] == "two" and any.a[3] == true and host.any(nil) == nil and host.any(5) == 5 and host.any("\255") == "\255")
		assert(host.raw({ 1, 2 }) == "[1,2]" and host.raw("x") == '"x"')
		assert(host.duration("2026-01-02T03:04:05Z") == "2026-01-02T03:04:05Z")
		assert(host.nothing() == true and host.none() == nil and host.maybe(true).id == 7)
		assert(host.nan() ~= host.nan())
		assert(host.context("with") == "with" and host.two("a", "b") == "ab")`,
		&luabind.Options{Modules: []luabind.Module{goModule()}})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestModule_errors_come_as_nil_and_text_misuse_raises(t *testing.T) {
	p := play(t, &echo{}, `
		local host = require("host")
		local value, err = host.fails()
		assert(value == nil and err == "it failed")
		value, err = host.maybe(false)
		assert(value == nil and err == "no ticket")
		local function raises(code, part, fn, ...)
			local ok, err = pcall(fn, ...)
			assert(not ok and err.code == code and err.message:find(part, 1, true), tostring(err))
		end
		raises("misuse", "host.text: argument 1: must be a string, is missing", host.text)
		raises("misuse", "host.text: argument 1: must be a string, is a number", host.text, 5)
		raises("misuse", "host.text takes 1 arguments, was given 2", host.text, "a", "b")
		raises("misuse", "host.two: argument 2: must be a string, is a boolean", host.two, "a", true)
		raises("misuse", "must be a boolean, is a string", host.boolean, "true")
		raises("misuse", "must be a whole number, is 1.5", host.int, 1.5)
		raises("misuse", "must be a whole number, is 1e+300", host.int, 1e300)
		raises("misuse", "must be a whole number, is NaN", host.int, 0/0)
		raises("misuse", "is 128, which is out of range", host.int8, 128)
		raises("misuse", "is -1, which is out of range", host.uint16, -1)
		raises("misuse", "must be a whole number, is a string", host.int, "5")
		raises("misuse", "must be a number, is a string", host.float, "5")
		raises("misuse", "must be a list, is a string", host.list, "a")
		raises("misuse", "must be a table, is a string", host.struct, "a")
		raises("misuse", 'unknown field "tilte"', host.struct, { tilte = "x" })
		raises("misuse", "title must be a string, is a number", host.struct, { title = 5 })
		raises("misuse", "parent.id must be a whole number, is a string", host.struct, { parent = { id = "x" } })
		raises("misuse", "not plain data: a function", host.any, print)
		raises("misuse", "does one contain itself?", host.any, (function() local t = {} t.t = t return t end)())
		raises("engine", "host.panics panicked: on purpose", host.panics)
		raises("engine", "host.channel returned what a script cannot be given", host.channel)
		assert(not pcall(function() host.text = 1 end) and host.missing == nil)`,
		&luabind.Options{Modules: []luabind.Module{goModule()}})
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestModule_function_waits_with_the_callers_context(t *testing.T) {
	rt, _ := newRuntime(t, &echo{})
	program, err := luabind.Load("test.lua", `pcall(require("host").wait) while true do end`,
		&luabind.Options{Modules: []luabind.Module{goModule()}, ComputeLimit: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = program.Run(ctx, rt, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the context's end: waiting is no computing", err)
	}
	if strings.Contains(err.Error(), "computed for") {
		t.Error(err)
	}
}
