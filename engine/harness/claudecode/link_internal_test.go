package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/transcript"
)

// wire collects what a link sends.
type wire struct {
	mu    sync.Mutex
	lines []string
	shut  bool
}

func (w *wire) send(line []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.shut {
		w.lines = append(w.lines, string(line))
	}
	return !w.shut
}

func (w *wire) sent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "")
}

func control(id, request string) frame {
	f, _ := parseFrame([]byte(`{"type":"control_request","request_id":"` + id + `","request":` + request + `}`))
	return f
}

func TestLink_answers_every_request_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		l := newLink(t.Context(), w.send, func(_ context.Context, q request) (any, error) {
			if q.Subtype == "bad" {
				return nil, errors.New("no such thing")
			}
			return map[string]any{"said": q.Subtype}, nil
		})
		for _, id := range []string{"a", "b", "c"} {
			if !l.take(control(id, `{"subtype":"hi"}`)) {
				t.Error("a request was not taken")
			}
		}
		l.take(control("d", `{"subtype":"bad"}`))
		synctest.Wait()
		for _, id := range []string{"a", "b", "c", "d"} {
			if n := strings.Count(w.sent(), `"request_id":"`+id+`"`); n != 1 {
				t.Errorf("request %s has %d answers", id, n)
			}
		}
		if !strings.Contains(w.sent(), `"error":"no such thing"`) {
			t.Error(w.sent())
		}
		l.close()
	})
}

func TestLink_does_not_answer_what_was_cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		l := newLink(t.Context(), w.send, func(ctx context.Context, _ request) (any, error) {
			<-ctx.Done()
			return map[string]any{}, nil
		})
		l.take(control("a", `{"subtype":"hi"}`))
		synctest.Wait()
		l.take(frame{Type: "control_cancel_request", RequestID: "a"})
		synctest.Wait()
		if w.sent() != "" {
			t.Errorf("answered: %s", w.sent())
		}
		l.close()
	})
}

func TestLink_nobody_waits_for_a_program_that_is_gone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		l := newLink(t.Context(), w.send, nil)
		first := l.ask(map[string]any{"subtype": "initialize"})
		l.take(frame{Type: "control_response", Response: response{Subtype: "success", RequestID: "flower_1"}})
		if answer, ok := <-first; !ok || answer.Subtype != "success" {
			t.Errorf("%+v %t", answer, ok)
		}
		second := l.ask(map[string]any{"subtype": "interrupt"})
		l.fail(errClosed)
		if _, ok := <-second; ok {
			t.Error("an answer came from nowhere")
		}
		if _, ok := <-l.ask(map[string]any{"subtype": "interrupt"}); ok {
			t.Error("a request was made of a program that is gone")
		}
		if l.take(frame{Type: "assistant"}) {
			t.Error("a message was taken for a control frame")
		}
		l.close()
	})
}

// deciding is a run that can only decide.
func deciding(t *testing.T, a harness.Agent, g guard.Chain) *run {
	r := &run{h: New(Config{}), turn: harness.Turn{Agent: a, Guards: g, Step: "s"}, session: "x", names: newNames(nil),
		policy: policy{agent: a}, failed: make(chan struct{}), say: &speaker{sink: event.Discard}}
	r.servers = newServers(r.names, nil, r.say)
	r.journal = newJournal(failing{}, transcript.Key{Project: "p", Session: "x"}, r.h.config.Now, r.h.config.NewID, t.Context())
	return r
}

// failing is a store that cannot be used.
type failing struct{ transcript.Store }

func (failing) Head(context.Context, transcript.Key) (transcript.Head, error) {
	return transcript.Head{}, transcript.ErrUnavailable
}

func (failing) Put(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, transcript.ErrUnavailable
}

const bashHook = `{"subtype":"hook_callback","callback_id":"before","input":{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"ls"}}}`

// decided is the decision that the program is sent for a hook.
func decided(t *testing.T, answer any) (decision, reason string) {
	t.Helper()
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Hook struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out.Hook.Decision, out.Hook.Reason
}

func TestServe_our_own_failures_are_denials(t *testing.T) {
	a := harness.Agent{Name: "a", Workspace: "/w", AllowedTools: []string{"Bash"}}
	unrecorded := deciding(t, a, guard.Chain{})
	panics := deciding(t, a, guard.Chain{})
	panics.servers = nil
	for name, r := range map[string]*run{"the call cannot be recorded": unrecorded, "a panic": panics} {
		answer, err := r.serve(t.Context(), control("1", bashHook).Request)
		if d, reason := decided(t, answer); err != nil || d != "deny" || reason == "" {
			t.Errorf("%s: %v %q %q", name, err, d, reason)
		}
	}
	select {
	case <-unrecorded.failed:
		if !errors.Is(unrecorded.failure, transcript.ErrUnavailable) {
			t.Error(unrecorded.failure)
		}
	default:
		t.Error("a call that could not be recorded does not end the turn")
	}
	answer, err := deciding(t, a, guard.Chain{}).serve(t.Context(), control("1", `{"subtype":"hook_callback","callback_id":"before","input":"?"}`).Request)
	if d, _ := decided(t, answer); err != nil || d != "deny" {
		t.Errorf("an input that is none: %v %v", answer, err)
	}
	if _, err := deciding(t, a, guard.Chain{}).serve(t.Context(), request{Subtype: "elicitation"}); err == nil {
		t.Error("an unknown request was answered with success")
	}
}

func TestServe_a_denial_holds_also_where_it_cannot_be_recorded(t *testing.T) {
	r := deciding(t, harness.Agent{Name: "a", Workspace: "/w", AllowedTools: []string{"Read"}}, guard.Chain{})
	answer, err := r.serve(t.Context(), control("1", bashHook).Request)
	if d, reason := decided(t, answer); err != nil || d != "deny" || !strings.Contains(reason, "not among the tools") {
		t.Errorf("%v %q %q", err, d, reason)
	}
	permit, err := r.serve(t.Context(), request{Subtype: "can_use_tool", ToolName: "Bash", Input: json.RawMessage(`{}`)})
	if m, _ := permit.(map[string]any); err != nil || m["behavior"] != "deny" {
		t.Errorf("%v %v", permit, err)
	}
	permit, err = r.serve(t.Context(), request{Subtype: "can_use_tool", ToolName: "Read", Input: json.RawMessage(`{}`)})
	if m, _ := permit.(map[string]any); err != nil || m["behavior"] != "allow" {
		t.Errorf("%v %v", permit, err)
	}
}
