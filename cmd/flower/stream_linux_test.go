package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/live"
)

// streamDocument is docs/events.md by its headings.
func streamDocument(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(raw), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections[name] = text
	}
	return sections
}

var ticked = regexp.MustCompile("`([a-z_]+)`")

// firstColumn are the names in the first column of the table whose head begins with
// the word.
func firstColumn(text, head string) (names []string) {
	_, text, _ = strings.Cut(text, "| "+head+" |")
	text, _, _ = strings.Cut(text, "\n\n")
	for _, line := range strings.Split(text, "\n") {
		if cell, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " |"); found && strings.HasPrefix(line, "| `") {
			for _, m := range ticked.FindAllStringSubmatch(cell, -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// fieldsOf are the names of a struct's fields in JSON.
func fieldsOf(v any) (names []string) {
	of := reflect.TypeOf(v)
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func sameNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: docs/events.md has\n%v\nand the program has\n%v", what, got, want)
	}
}

func TestStream_the_document_has_every_field(t *testing.T) {
	doc := streamDocument(t)
	sameNames(t, "hello", firstColumn(doc["hello"], "field"), fieldsOf(live.Hello{}))
	sameNames(t, "events", firstColumn(doc["Events"], "field"), fieldsOf(event.Event{}))
	sameNames(t, "end", firstColumn(doc["end"], "field"), fieldsOf(end{}))
	speaking := doc["Speaking to a run"]
	sameNames(t, "request", firstColumn(speaking, "field"), fieldsOf(live.Request{}))
	for kind, v := range map[string]any{live.KindReply: live.Reply{}, live.KindAside: live.Aside{}, live.KindDropped: live.Dropped{}} {
		_, row, _ := strings.Cut(speaking, "| `"+kind+"` | ")
		cell, _, _ := strings.Cut(row, " |")
		var names []string
		for _, m := range ticked.FindAllStringSubmatch(cell, -1) {
			names = append(names, m[1])
		}
		sameNames(t, kind, names, fieldsOf(v))
	}
	for _, name := range fieldsOf(live.Notice{}) {
		if !strings.Contains(speaking, "`"+name+"`") {
			t.Errorf("the notice's %s is not in docs/events.md", name)
		}
	}
	for _, do := range []string{live.Answer, live.Decline, live.Mail, live.Interrupt, live.Ask, live.Continue} {
		if !strings.Contains(speaking, `{"do":"`+do+`"`) {
			t.Errorf("the request %s is not in docs/events.md", do)
		}
	}
}

// kindsOfEvents are the constants of type Kind in package event.
func kindsOfEvents(t *testing.T) (kinds []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../engine/event/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Kind" {
			for _, v := range spec.Values {
				kind, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, kind)
			}
		}
		return true
	})
	return kinds
}

func TestStream_the_document_has_every_kind(t *testing.T) {
	sameNames(t, "kinds", firstColumn(streamDocument(t)["Events"], "kind"), kindsOfEvents(t))
}

// streamOf runs flower --json and gives its lines.
func streamOf(t *testing.T, dir string, args ...string) (lines []map[string]any) {
	t.Helper()
	cmd := exec.Command(flowerCommand(t), append([]string{"--json"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// failing has a guard refuse, a gate reject, a request fail and a script speak.
const failing = `
local worker = flower.agent{ name = "worker", allowed_tools = { "Bash" }, hooks = { flower.guard{ on = "before",
  check = function(call) if call.input.command == "rm x" then return false, "not that" end end } } }
return flower.workflow{ name = "failing", steps = { flower.step{ name = "work", prompt = "Begin.", spec = worker, retries = 1,
  gate = function(result) print("gate") return result.text == "done", "say done" end } } }
`

const failingModel = `
return function(turn)
  if turn.turn == 1 and turn.prompt == "Begin." then return { thinking = "hm", calls = {
    { tool = "Bash", input = { command = "rm x" } }, { tool = "Bash", input = { command = "false" } } } } end
  return turn.prompt:find("say done", 1, true) and "done" or "what?"
end
`

func TestStream_the_document_has_what_the_payloads_hold(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	lines := streamOf(t, t.TempDir(), "--rehearse", examples+"/starter.rehearsal.lua", "--timeout", "0", "make a script that says hello")
	lines = append(lines, streamOf(t, folder(t, map[string]string{"flow.lua": failing, "model.lua": failingModel}), "--rehearse", "model.lua", "flow.lua")...)
	doc, seen := streamDocument(t)["Events"], map[string]bool{}
	for _, l := range lines {
		kind, _ := l["kind"].(string)
		payload, _ := l["payload"].(map[string]any)
		row := ""
		for line := range strings.Lines(doc) {
			if cell, _, _ := strings.Cut(line, " | "); strings.Contains(cell, "`"+kind+"`") {
				row = line
			}
		}
		for name := range payload {
			seen[kind+"."+name] = true
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("docs/events.md does not say that %s has %s", kind, name)
			}
		}
	}
	for _, want := range []string{"step.index", "tool_result.denied", "task.phase", "task.rejected", "result.ok", "tool_call.id"} {
		if !seen[want] {
			t.Errorf("no line had %s", want)
		}
	}
}

func TestStream_is_numbered_and_comes_to_an_end(t *testing.T) {
	lines := streamOf(t, folder(t, map[string]string{"flow.lua": failing, "model.lua": failingModel}), "--rehearse", "model.lua", "flow.lua")
	if lines[0]["kind"] != "hello" || lines[0]["v"] != 1.0 {
		t.Errorf("the first line is %v", lines[0])
	}
	for i, l := range lines[1 : len(lines)-1] {
		if l["seq"] != float64(i+1) {
			t.Errorf("event %d is %v", i+1, l)
		}
	}
	last := lines[len(lines)-1]
	steps, _ := last["steps"].([]any)
	if last["kind"] != "end" || last["ok"] != true || len(steps) != 2 {
		t.Errorf("the last line is %v", last)
	}
	if row, _ := steps[1].(map[string]any); row["step"] != "work#round2" || row["gate"] != "passed" {
		t.Errorf("the last step is %v", steps[1])
	}
}

// process is a run whose socket a test speaks to.
type process struct {
	t     *testing.T
	dir   string
	cmd   *exec.Cmd
	lines *listener
}

// listener is connected to a run.
type listener struct {
	*live.Client
	p    *process
	seen []streamLine
}

// printed is what the run printed so far.
func (p *process) printed() string {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, "printed"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

// liveWait is how long a test waits for what must come.
const liveWait = 30 * time.Second

func begin(t *testing.T, files map[string]string, args ...string) *process {
	t.Helper()
	p := &process{t: t, dir: folder(t, files)}
	printed, err := os.Create(filepath.Join(p.dir, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	p.cmd = exec.Command(flowerCommand(t), args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, printed, printed
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // an ended process says so in Wait
			_ = p.cmd.Wait()
		}
	})
	p.lines = p.connect()
	return p
}

// connect waits until the run can be reached.
func (p *process) connect() *listener {
	p.t.Helper()
	for end := time.Now().Add(liveWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		found, err := live.List(filepath.Join(p.dir, "runs", "live"))
		if err != nil {
			p.t.Fatal(err)
		}
		if len(found) == 1 {
			c, err := live.Dial(context.Background(), found[0])
			if err != nil {
				p.t.Fatal(err)
			}
			late := time.AfterFunc(liveWait, func() { c.Close() }) // ends a Read that waits for ever
			p.t.Cleanup(func() { late.Stop(); c.Close() })
			return &listener{Client: c, p: p}
		}
	}
	p.t.Fatalf("nobody listens: %s", p.printed())
	return nil
}

// streamLine is as much of a line as these tests look at.
type streamLine struct {
	Kind    string         `json:"kind"`
	Ref     string         `json:"ref"`
	OK      bool           `json:"ok"`
	Text    string         `json:"text"`
	Error   string         `json:"error"`
	Receipt string         `json:"receipt"`
	Payload map[string]any `json:"payload"`
	Exit    int            `json:"exit_code"`

	Interrupted bool `json:"interrupted"`
}

// until gives the first line that is wanted, of those that came and those to come.
func (l *listener) until(wanted func(streamLine) bool) streamLine {
	l.p.t.Helper()
	for i := 0; ; i++ {
		if i == len(l.seen) {
			raw, err := l.Read()
			if err != nil {
				l.p.t.Fatalf("%v, and the run printed: %s", err, l.p.printed())
			}
			var next streamLine
			if err := json.Unmarshal(raw, &next); err != nil {
				l.p.t.Fatal(err)
			}
			l.seen = append(l.seen, next)
		}
		if wanted(l.seen[i]) {
			return l.seen[i]
		}
	}
}

func ofKind(kind string) func(streamLine) bool {
	return func(l streamLine) bool { return l.Kind == kind }
}

func questionIs(id, state string) func(streamLine) bool {
	return func(l streamLine) bool {
		return l.Kind == "ask" && l.Payload["id"] == id && l.Payload["state"] == state
	}
}

// asks sends a request and gives its reply.
func (l *listener) asks(r live.Request) streamLine {
	l.p.t.Helper()
	r.Ref = strconv.Itoa(len(l.seen))
	if err := l.Send(r); err != nil {
		l.p.t.Fatal(err)
	}
	return l.until(func(x streamLine) bool { return x.Kind == "reply" && x.Ref == r.Ref })
}

func TestLive_of_two_answers_the_second_is_refused(t *testing.T) {
	p := begin(t, map[string]string{"flow.lua": steered, "model.lua": asking}, "--rehearse", "model.lua", "flow.lua", "asks")
	p.lines.until(questionIs("q1", "asked"))
	if r := p.lines.asks(live.Request{Do: live.Answer, ID: "q1", Text: " "}); r.OK || !strings.Contains(r.Error, "the answer is empty") {
		t.Errorf("%+v", r)
	}
	if r := p.lines.asks(live.Request{Do: live.Answer, ID: "q1", Text: "red"}); !r.OK || r.Receipt != "answered" {
		t.Errorf("%+v", r)
	}
	p.lines.until(questionIs("q2", "asked"))
	if r := p.lines.asks(live.Request{Do: live.Answer, ID: "q1", Text: "green"}); r.OK || r.Error != `too late: question "q1" is not open; open: q2` {
		t.Errorf("%+v", r)
	}
	other := p.connect()
	if l := other.until(questionIs("q1", "answered")); l.Payload["answer"] != "red" {
		t.Errorf("the other is told %+v", l)
	}
	if r := p.lines.asks(live.Request{Do: live.Interrupt, Text: "enough"}); !r.OK {
		t.Errorf("%+v", r)
	}
	other.until(questionIs("q2", "left")) // nobody can answer any more
	p.lines.until(questionIs("q3", "asked"))
	if r := p.lines.asks(live.Request{Do: live.Decline, ID: "q3"}); !r.OK || r.Receipt != "skipped: the agent decides" {
		t.Errorf("%+v", r)
	}
	if l := p.lines.until(ofKind("end")); !l.OK || l.Exit != 0 {
		t.Errorf("%+v", l)
	}
}

func TestLive_a_question_from_the_side_is_answered_to_who_asked(t *testing.T) {
	p := begin(t, map[string]string{"flow.lua": steered, "model.lua": asking}, "--rehearse", "model.lua", "flow.lua", "asks")
	p.lines.until(questionIs("q1", "asked"))
	if r := p.lines.asks(live.Request{Do: live.Ask, Text: ""}); r.OK {
		t.Errorf("%+v", r)
	}
	if r := p.lines.asks(live.Request{Do: live.Ask, Text: "Where are we?"}); !r.OK {
		t.Errorf("%+v", r)
	}
	if l := p.lines.until(ofKind("aside")); !l.OK || l.Text != "The run is asking." {
		t.Errorf("%+v", l)
	}
	if text := p.printed(); strings.Contains(text, "The run is asking") {
		t.Errorf("the run printed %s", text)
	}
}

func TestLive_a_signal_is_told_as_the_end(t *testing.T) {
	for sig, want := range map[syscall.Signal]struct {
		exit int
		text string
	}{
		syscall.SIGINT:  {130, "interrupted; the accounts are written"},
		syscall.SIGTERM: {143, "ended by a signal (terminated); the accounts are written"},
	} {
		p := begin(t, map[string]string{"flow.lua": steered, "model.lua": asking}, "--rehearse", "model.lua", "flow.lua", "asks")
		p.lines.until(questionIs("q1", "asked"))
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if l := p.lines.until(ofKind("end")); l.OK || l.Exit != want.exit || !l.Interrupted || !strings.HasPrefix(l.Error, want.text) {
			t.Errorf("%v: %+v", sig, l)
		}
		_ = p.cmd.Wait() // the state says how it ended
		status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.ExitStatus() != want.exit && status.Signal() != sig {
			t.Errorf("%v: it ended by %v", sig, p.cmd.ProcessState)
		}
		if left, err := os.ReadDir(filepath.Join(p.dir, "runs", "live")); err != nil || len(left) > 0 {
			t.Errorf("%v: it left %v, %v", sig, left, err)
		}
		if !strings.Contains(p.printed(), "flower: "+want.text) {
			t.Errorf("%v: it printed %s", sig, p.printed())
		}
	}
}

func TestClock_has_the_date_of_another_day(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	if got := clock(at, at.Add(time.Hour)); got != "03:04" {
		t.Error(got)
	}
	if got := clock(at, at.AddDate(0, 0, 1)); got != "2026-01-02 03:04" {
		t.Error(got)
	}
}
