package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// crash runs a turn whose store refuses every write from the n-th on, as if the
// process had ended there.
func (b *bench) crash(n int) (session string) {
	b.t.Helper()
	b.memory.before = func(i int, _ transcript.Key, _ []transcript.Entry) error {
		if i >= n {
			return errors.New("killed")
		}
		return nil
	}
	defer func() { b.memory.before = nil; b.memory.writes = 0 }()
	if _, err := b.run(); err == nil {
		b.t.Fatal("the run did not notice that nothing was written any more")
	}
	for _, k := range b.memory.keys() {
		session = k.Session
	}
	return session
}

// F-002
func TestSession_a_call_without_a_result_is_answered_once_at_open(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "echo a"), "Bash", input("command", "echo b")))
	id := b.crash(3) // prefix and prompt, answer; the first result is lost
	if got := kinds(b.memory.entries(key(id))); got != "flower_prefix user calls(2)" {
		t.Fatalf("before: %s", got)
	}
	var atFirstRequest string
	server, err := api.Start(&api.Options{Script: func(api.Request) api.Turn {
		if atFirstRequest == "" {
			atFirstRequest = kinds(b.memory.entries(key(id)))
		}
		return says("Going on.")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b.config.Model = client(server)
	for range 2 {
		b.resume(id, "Go on.")
		b.mustRun(harness.EndTurn)
	}
	if want := "flower_prefix user calls(2) result result flower_prefix user"; atFirstRequest != want {
		t.Errorf("at the first request: %s, want %s", atFirstRequest, want)
	}
	if got := strings.Count(kinds(b.memory.entries(key(id))), "result"); got != 2 {
		t.Errorf("%d results after two openings, want 2", got)
	}
}

// F-003, F-004: the strict server takes every request, whatever the history was.
func TestSession_every_request_has_its_pairs(t *testing.T) {
	line := func(id, parent, kind, content string) string {
		return fmt.Sprintf(`{"uuid":%q,"parentUuid":%q,"type":%q,"timestamp":"2026-01-01T00:00:00Z","message":{"role":%q,"content":%s}}`, id, parent, kind, kind, content)
	}
	use := func(ids ...string) string {
		var blocks []string
		for _, id := range ids {
			blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{}}`, id))
		}
		return "[" + strings.Join(blocks, ",") + "]"
	}
	result := func(id string) string {
		return fmt.Sprintf(`[{"type":"tool_result","tool_use_id":%q,"content":"ok %s"}]`, id, id)
	}
	cases := map[string][]string{
		"orphan at the end":         {line("1", "", "user", `"go"`), line("2", "1", "assistant", use("a"))},
		"orphan in the middle":      {line("1", "", "user", `"go"`), line("2", "1", "assistant", use("a")), line("3", "2", "user", `"and?"`), line("4", "3", "assistant", `[{"type":"text","text":"x"}]`)},
		"results in another order":  {line("1", "", "user", `"go"`), line("2", "1", "assistant", use("a", "b", "c")), line("3", "2", "user", result("c")), line("4", "3", "user", result("a")), line("5", "4", "user", result("b"))},
		"result of nothing":         {line("1", "", "user", `"go"`), line("2", "1", "assistant", `[{"type":"text","text":"x"}]`), line("3", "2", "user", result("zz"))},
		"result before the call":    {line("1", "", "user", result("a")), line("2", "1", "assistant", use("a"))},
		"begins with an answer":     {line("1", "", "assistant", `[{"type":"text","text":"x"}]`)},
		"two results of one call":   {line("1", "", "user", `"go"`), line("2", "1", "assistant", use("a")), line("3", "2", "user", result("a")), line("4", "3", "user", result("a"))},
		"empty and blank texts":     {line("1", "", "user", `"go"`), line("2", "1", "assistant", `[{"type":"text","text":""},{"type":"text","text":" "}]`), line("3", "2", "user", `""`)},
		"thinking alone":            {line("1", "", "user", `"go"`), line("2", "1", "assistant", `[{"type":"thinking","thinking":"x","signature":"y"}]`)},
		"text behind an open call":  {line("1", "", "user", `"go"`), line("2", "1", "assistant", use("a")), line("3", "2", "user", `[{"type":"text","text":"words"}]`)},
		"a reply in several pieces": {line("1", "", "user", `"go"`), piece("2", "1", "m1", use("a")), line("3", "2", "user", result("a")), piece("4", "3", "m1", use("b")), line("5", "4", "user", result("b"))},
	}
	for name, lines := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, says("Good."), says("Better."))
			b.memory.imported(t, key("old"), lines...)
			b.resume("old", "Go on.")
			b.mustRun(harness.EndTurn)
			b.mustRun(harness.EndTurn)
			r := b.requests()
			assertSamePrefix(t, r[0], r[1])
		})
	}
}

func piece(id, parent, message, content string) string {
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%q,"type":"assistant","timestamp":"2026-01-01T00:00:00Z","message":{"id":%q,"role":"assistant","content":%s}}`, id, parent, message, content)
}

// F-004
func TestSession_results_go_back_in_the_order_of_the_calls(t *testing.T) {
	b := newBench(t, nil)
	stored := make(chan struct{})
	b.turn.Sink = event.SinkFunc(func(e event.Event) {
		if e.Kind == event.ToolResult && e.Tool == "bad" { // told when it is stored
			close(stored)
		}
	})
	b.host("slow", true, func(tool.Call) tool.Result { <-stored; return tool.TextResult("slow") })
	b.host("bad", true, func(tool.Call) tool.Result { return tool.ErrorResult("bad") })
	b.server.Enqueue(calls("slow", "{}", "bad", "{}", "nothing", "{}"), says("Done."))
	out := b.mustRun(harness.EndTurn)
	got := results(b.last())
	if len(got) != 3 || got[0] != "slow" || got[1] != "bad" || !strings.Contains(got[2], "no tool") {
		t.Errorf("results: %q", got)
	}
	if first := b.memory.entries(key(out.SessionID))[3]; !strings.Contains(string(first.Raw), `"bad"`) {
		t.Error("the result that was there first is not the first entry")
	}
}

// F-005
func TestSession_fork_of_a_rewound_session_has_the_live_branch_alone(t *testing.T) {
	b := newBench(t, nil, says("One."), says("Two."), says("Other two."), says("Three."))
	first := b.mustRun(harness.EndTurn)
	at := b.memory.entries(key(first.SessionID))[2].UUID
	b.resume(first.SessionID, "DEAD")
	b.mustRun(harness.EndTurn)
	b.resume(first.SessionID, "Alive.")
	b.turn.Session.At = at
	b.mustRun(harness.EndTurn)
	b.resume(first.SessionID, "Fork.")
	b.turn.Session.Fork = true
	out := b.mustRun(harness.EndTurn)
	if out.SessionID == first.SessionID {
		t.Fatal("the copy has the id of the original")
	}
	body := string(b.last().Body)
	if strings.Contains(body, "DEAD") || strings.Contains(body, `"Two."`) || !strings.Contains(body, "Other two.") {
		t.Errorf("the fork's request: %s", body)
	}
	if n := len(b.memory.entries(key(first.SessionID))); n == len(b.memory.entries(key(out.SessionID))) {
		t.Error("the original grew with the copy")
	}
}

func TestSession_going_back_to_calls_keeps_their_results(t *testing.T) {
	for _, fork := range []bool{false, true} {
		b := newBench(t, nil, calls("Bash", input("command", "echo seen")), says("One."), says("Two."))
		first := b.mustRun(harness.EndTurn)
		b.resume(first.SessionID, "Again.")
		b.turn.Session.At = b.memory.entries(key(first.SessionID))[2].UUID
		b.turn.Session.Fork = fork
		b.mustRun(harness.EndTurn)
		if got := results(b.last()); len(got) != 1 || !strings.Contains(got[0], "seen") {
			t.Errorf("fork %v: results sent %q", fork, got)
		}
		if strings.Contains(string(b.last().Body), "One.") {
			t.Errorf("fork %v: what came later is still there", fork)
		}
	}
}

func TestSession_errors_at_open_name_what_is_wrong(t *testing.T) {
	cases := map[string]struct {
		session harness.Session
		change  func(*bench)
		want    string
	}{
		"not there":       {harness.Session{Resume: "gone"}, nil, "session demo/gone is not in the store"},
		"fork of nothing": {harness.Session{Fork: true}, nil, "fork needs a session"},
		"at of nothing":   {harness.Session{At: "x"}, nil, "resume_at needs a session"},
		"unknown message": {harness.Session{Resume: "old", At: "nope"}, nil, "message nope"},
		"unknown tool":    {harness.Session{}, func(b *bench) { b.turn.Agent.AllowedTools = []string{"Reed"} }, `did you mean "Read"`},
		"unknown barred":  {harness.Session{}, func(b *bench) { b.turn.Agent.DisallowedTools = []string{"Bsh"} }, `did you mean "Bash"`},
		"worker's tool": {harness.Session{}, func(b *bench) {
			b.turn.Agent.Workers = map[string]harness.Worker{"w": {Tools: []string{"Grp"}}}
		}, `workers.w.tools names "Grp"`},
		"host tool's name":   {harness.Session{}, func(b *bench) { b.host("a b", true, nil) }, `called "a b"`},
		"host tool's schema": {harness.Session{}, func(b *bench) { b.turn.HostTools = badSchema() }, "schema is not"},
		"mode":               {harness.Session{}, func(b *bench) { b.turn.Agent.PermissionMode = "plann" }, `did you mean "plan"`},
		"effort":             {harness.Session{}, func(b *bench) { b.turn.Agent.Effort = "hgh" }, `did you mean "high"`},
		"tokens":             {harness.Session{}, func(b *bench) { b.turn.Agent.Effort = "64000" }, "lower it"},
		"prompt":             {harness.Session{}, func(b *bench) { b.turn.Prompt = " " }, "prompt is empty"},
		"budget":             {harness.Session{}, func(b *bench) { b.turn.Limits.USD, b.turn.Agent.Model = 1, "nobody-knows" }, "price of model"},
		"folder":             {harness.Session{}, func(b *bench) { b.turn.Agent.Workspace = "" }, "workspace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.memory.imported(t, key("old"), `{"uuid":"1","type":"user","message":{"role":"user","content":"x"}}`)
			b.turn.Session = c.session
			if c.change != nil {
				c.change(b)
			}
			_, err := b.run()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want %q in it", err, c.want)
			}
			var order *harness.OrderError
			if !errors.As(err, &order) && !errors.Is(err, transcript.ErrNotFound) {
				t.Errorf("%T is repeated", err)
			}
			if n := len(b.requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			if n := len(b.memory.keys()); n != 1 {
				t.Errorf("something was stored")
			}
		})
	}
}

// F-080
func TestSession_prefix_is_sent_as_stored_while_it_holds(t *testing.T) {
	b := newBench(t, nil, says("1"), says("2"), says("3"))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Two.")
	b.mustRun(harness.EndTurn)
	b.turn.Agent.Instructions = "Be different."
	b.mustRun(harness.EndTurn)
	r := b.requests()
	assertSamePrefix(t, r[0], r[1])
	if string(r[1].System[0].Raw) == string(r[2].System[0].Raw) {
		t.Error("the changed instructions were not sent")
	}
	if got := strings.Count(kinds(b.memory.entries(key(out.SessionID))), "flower_prefix"); got != 3 {
		t.Errorf("%d prefix entries, want the first, the view's and the changed one", got)
	}
	var told bool
	for _, e := range b.of(event.System) {
		told = told || e.Payload["cache_starts_over"] == true
	}
	if !told {
		t.Error("no event says that the cache starts over")
	}
}

// F-080
func TestSession_cache_reads_grow_over_requests_and_processes(t *testing.T) {
	clock := newClock()
	b := newBench(t, &api.Options{Now: clock.Now, MinCache: -1})
	b.config.Now = clock.Now
	for i := range 4 {
		b.server.Enqueue(calls("Bash", input("command", fmt.Sprintf("seq %d", 50*(i+1)))))
	}
	b.server.Enqueue(says("First."), calls("Bash", input("command", "seq 300")), says("Second."))
	out := b.mustRun(harness.EndTurn)
	clock.advance(2 * time.Minute)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	var last int
	for i, x := range b.server.Log() {
		if i < 1 {
			continue
		}
		if x.Usage.CacheRead <= last {
			t.Errorf("request %d read %d tokens from the cache, the one before %d", i+1, x.Usage.CacheRead, last)
		}
		if x.Usage.Input != 0 {
			t.Errorf("request %d: %d tokens were neither read from the cache nor written to it", i+1, x.Usage.Input)
		}
		last = x.Usage.CacheRead
	}
	for _, e := range b.of(event.System) {
		t.Errorf("event: %s", e.Text)
	}
}

// F-081
func TestSession_workbench_index_stays_and_its_change_is_told_in_front_of_the_prompt(t *testing.T) {
	b := newBench(t, nil, says("1"), says("2"), says("3"))
	b.turn.Agent.Index = "INDEX one"
	out := b.mustRun(harness.EndTurn)
	b.turn.Agent.Index = "INDEX two"
	b.resume(out.SessionID, "Second.")
	b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Third.")
	b.mustRun(harness.EndTurn)
	r := b.requests()
	assertSamePrefix(t, r[0], r[1])
	assertSamePrefix(t, r[1], r[2])
	if s := r[2].System[1].Text; !strings.HasSuffix(s, "INDEX one") {
		t.Errorf("system prompt ends with %q", s)
	}
	second := r[1].Messages[2].Content
	if len(second) != 2 || !strings.Contains(second[0].Text, "INDEX two") || second[1].Text != "Second." {
		t.Errorf("second prompt: %+v", second)
	}
	if third := r[2].Messages[4].Content; len(third) != 1 {
		t.Errorf("the same index was told again: %+v", third)
	}
}

func TestSession_view_decisions_are_repeated_while_the_cache_is_warm(t *testing.T) {
	clock := newClock()
	b := newBench(t, nil)
	b.config.Now = clock.Now
	b.turn.View.Expire = transcript.ExpirePolicy{Enabled: true, KeepRecent: 1}
	look := calls("Bash", input("command", "ls -a"))
	b.server.Enqueue(look, look, look, says("1"), says("2"), says("3"))
	out := b.mustRun(harness.EndTurn)
	clock.advance(time.Minute)
	b.resume(out.SessionID, "Warm.")
	b.mustRun(harness.EndTurn)
	r := b.requests()
	assertSamePrefix(t, r[3], r[4])
	clock.advance(10 * time.Minute)
	b.resume(out.SessionID, "Cold.")
	b.mustRun(harness.EndTurn)
	if body := string(b.last().Body); strings.Count(body, "was removed") != 2 {
		t.Errorf("two of three looks have gone stale; the request: %s", body)
	}
}

func TestSession_trimmed_results_are_files_before_they_are_pointers(t *testing.T) {
	clock := newClock()
	b := newBench(t, nil)
	b.config.Now = clock.Now
	b.turn.View.Trim = transcript.TrimPolicy{Enabled: true, MinChars: 100}
	b.server.Enqueue(calls("Bash", input("command", "seq 1000")), says("1"), says("2"))
	out := b.mustRun(harness.EndTurn)
	clock.advance(time.Hour)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	got := results(api.Request{Messages: b.last().Messages[2:3]})
	if len(got) != 1 || !strings.Contains(got[0], ".flower/spill/") {
		t.Fatalf("result: %q", got)
	}
	files, _ := filepath.Glob(filepath.Join(b.dir, ".flower", "spill", "*.txt"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	if content, _ := os.ReadFile(files[0]); !strings.Contains(string(content), "\n999\n") {
		t.Error("the file does not have the result")
	}
}

func TestSession_read_receipts_survive_a_new_process(t *testing.T) {
	b := newBench(t, nil)
	path := filepath.Join(b.dir, "f.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.server.Enqueue(calls("Read", input("file_path", path)), says("Read."),
		calls("Edit", input("file_path", path, "old_string", "one", "new_string", "two")), says("Edited."))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Edit it.")
	b.mustRun(harness.EndTurn)
	if content, _ := os.ReadFile(path); string(content) != "two\n" {
		t.Errorf("file: %q; result: %q", content, results(b.last()))
	}
}

func TestSession_an_open_question_is_asked_again_and_its_answer_becomes_the_result(t *testing.T) {
	b := newBench(t, nil)
	asked := 0
	b.host("mcp__human__ask", false, func(c tool.Call) tool.Result {
		asked++
		return tool.TextResult("blue")
	})
	b.server.Enqueue(calls("mcp__human__ask", input("question", "Which colour?")))
	id := b.crash(3)
	b.server.Enqueue(says("Blue then."))
	b.resume(id, "Go on.")
	b.mustRun(harness.EndTurn)
	if asked != 2 { // once by the process that ended before it could store the answer
		t.Errorf("asked %d times", asked)
	}
	r := b.last()
	if got := results(r); len(got) != 1 || got[0] != "blue" || r.Prompt() != "Go on." {
		t.Errorf("sent: %q, %q", got, r.Prompt())
	}
}

func TestSession_second_writer_is_fenced_off(t *testing.T) {
	b := newBench(t, nil, says("1"), calls("Bash", input("command", "touch ran")))
	out := b.mustRun(harness.EndTurn)
	b.memory.before = func(n int, k transcript.Key, es []transcript.Entry) error {
		if es[0].Type == "assistant" {
			return fmt.Errorf("%w: somebody else wrote", transcript.ErrConflict)
		}
		return nil
	}
	b.resume(out.SessionID, "Go on.")
	if _, err := b.run(); !errors.Is(err, transcript.ErrConflict) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("a call that could not be recorded was run")
	}
}

// F-028, and the rule that a call is on disk before it is done: the store fails
// at every write in turn; a new process goes on; nothing is done twice.
func TestSession_crash_at_every_write(t *testing.T) {
	for n := 1; n <= 9; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := newBench(t, nil)
			log := filepath.Join(b.dir, "log")
			server, err := api.Start(&api.Options{Script: func(r api.Request) api.Turn {
				content, _ := os.ReadFile(log)
				switch strings.Count(string(content), "\n") {
				case 0:
					return calls("Bash", input("command", "echo one >> "+log))
				case 1:
					return calls("Bash", input("command", "echo two >> "+log), "Read", input("file_path", log))
				}
				return says("Done.")
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			b.config.Model = client(server)
			b.memory.before = func(i int, _ transcript.Key, _ []transcript.Entry) error {
				if i >= n {
					return errors.New("killed")
				}
				return nil
			}
			out, err := b.run()
			b.memory.before = nil
			if err != nil {
				if out.SessionID != "" {
					b.resume(out.SessionID, "Go on.")
				}
				b.mustRun(harness.EndTurn)
			}
			if content, _ := os.ReadFile(log); string(content) != "one\ntwo\n" {
				t.Errorf("what was done: %q", content)
			}
		})
	}
}

func TestSession_entries_have_the_form_of_claude_code(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "echo hi")), says("Done."))
	out := b.mustRun(harness.EndTurn)
	for _, e := range b.memory.entries(key(out.SessionID)) {
		var line struct {
			UUID      string          `json:"uuid"`
			Parent    *string         `json:"parentUuid"`
			Session   string          `json:"sessionId"`
			Time      string          `json:"timestamp"`
			Cwd       string          `json:"cwd"`
			Type      string          `json:"type"`
			Version   string          `json:"version"`
			Message   json.RawMessage `json:"message"`
			RequestID string          `json:"requestId"`
		}
		if err := json.Unmarshal(e.Raw, &line); err != nil {
			t.Fatal(err)
		}
		if line.UUID == "" || line.Session != out.SessionID || line.Cwd != b.dir || line.Version != "test" || e.Time.IsZero() {
			t.Errorf("entry: %s", e.Raw)
		}
		if line.Type == "assistant" && (line.RequestID == "" || !strings.Contains(string(line.Message), `"usage":{"input_tokens"`)) {
			t.Errorf("answer: %s", e.Raw)
		}
		if strings.ContainsAny(string(e.Raw), "\n\r") {
			t.Errorf("an entry of several lines: %s", e.Raw)
		}
	}
}

func badSchema() []tool.Tool {
	return []tool.Tool{tool.Func{Def: tool.Definition{Name: "x", Schema: json.RawMessage(`[]`)}}}
}

// asks notes the turn number of every request.
type asks struct {
	model.Model
	turns *[]int
}

func (a asks) Stream(ctx context.Context, r model.Request) (model.Stream, error) {
	*a.turns = append(*a.turns, r.Meta.Turn)
	return a.Model.Stream(ctx, r)
}

func TestSession_turns_are_counted_over_the_transcript_whatever_the_view_leaves_out(t *testing.T) {
	b := newBench(t, nil, calls("Bash", input("command", "ls")), calls("Bash", input("command", "pwd")), says("1"), says("2"))
	b.turn.Guards.Guards = []guard.Guard{denies{"Bash", "no"}}
	b.turn.View.Prune = transcript.PrunePolicy{DropAPIErrors: true}
	var turns []int
	b.config.Model = asks{b.config.Model, &turns}
	clock := newClock()
	b.config.Now = clock.Now
	out := b.mustRun(harness.EndTurn)
	clock.advance(time.Hour)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if len(b.last().Messages) != 3 {
		t.Errorf("%d messages: the denied calls are still in the view", len(b.last().Messages))
	}
	if got := fmt.Sprint(turns); got != "[1 2 3 4]" {
		t.Errorf("turns: %s", got)
	}
}

func TestSession_going_back_behind_a_told_index_tells_it_again(t *testing.T) {
	b := newBench(t, nil, says("1"), says("2"), says("3"))
	b.turn.Agent.Index = "INDEX one"
	out := b.mustRun(harness.EndTurn)
	at := b.memory.entries(key(out.SessionID))[2].UUID
	b.turn.Agent.Index = "INDEX two"
	b.resume(out.SessionID, "Left behind.")
	b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Other way.")
	b.turn.Session.At = at
	b.mustRun(harness.EndTurn)
	if got := b.last().Prompt(); !strings.Contains(got, "INDEX two") {
		t.Errorf("prompt: %q", got)
	}
}
