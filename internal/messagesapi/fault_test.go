package messagesapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/internal/messagesapi"
)

// streamed asks for a stream and returns what of it arrived.
func streamed(t *testing.T, s *messagesapi.Server) (string, error) {
	t.Helper()
	raw, err := json.Marshal(hello(object{"stream": true}))
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := do(t, request(t, s.URL()+"/v1/messages", raw))
	return string(body), err
}

// with is fullTurn with faults; its ids have a fixed length, so that offsets do.
func with(faults ...messagesapi.Fault) messagesapi.Turn {
	turn := fullTurn
	turn.Faults = faults
	return turn
}

func TestCut_breaks_the_connection_at_the_byte(t *testing.T) {
	s := start(t, nil)
	s.Enqueue(with())
	whole, err := streamed(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 100, len(whole) / 2, len(whole) - 1, len(whole)} {
		s.Enqueue(with(messagesapi.Fault{Kind: messagesapi.Cut, At: n}))
		got, err := streamed(t, s)
		if err == nil || len(got) != n {
			t.Errorf("cut at %d: %d bytes, %v", n, len(got), err)
		}
		log := s.Log()
		if last := log[len(log)-1]; last.Sent != n || last.Whole || last.Status != 200 {
			t.Errorf("cut at %d: the log says %d, %v, %d", n, last.Sent, last.Whole, last.Status)
		}
	}
	s.Enqueue(with(messagesapi.Fault{Kind: messagesapi.Cut, At: len(whole) + 1}))
	if got, err := streamed(t, s); err != nil || len(got) != len(whole) {
		t.Errorf("a cut behind the end happened: %d bytes, %v", len(got), err)
	}
}

func TestCut_before_the_status_line_gives_no_answer(t *testing.T) {
	s := start(t, always(with(messagesapi.Fault{Kind: messagesapi.Cut, At: -1})))
	raw, _ := json.Marshal(hello(nil))
	if resp, _, err := do(t, request(t, s.URL()+"/v1/messages", raw)); err == nil {
		t.Errorf("answered with %d", resp.StatusCode)
	}
	if log := s.Log(); log[0].Status != 0 {
		t.Errorf("the log says %d", log[0].Status)
	}
}

func TestEnd_looks_whole_to_the_transport(t *testing.T) {
	s := start(t, always(with(messagesapi.Fault{Kind: messagesapi.End, At: 200})))
	if got, err := streamed(t, s); err != nil || len(got) != 200 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestStall_goes_on_after_its_time(t *testing.T) {
	const pause = 50 * time.Millisecond
	s := start(t, always(with(messagesapi.Fault{Kind: messagesapi.Stall, At: 10, For: pause})))
	before := time.Now()
	if got, err := streamed(t, s); err != nil || !strings.Contains(got, "message_stop") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if passed := time.Since(before); passed < pause {
		t.Errorf("it took %v", passed)
	}
}

func TestStall_without_end_lasts_until_the_client_leaves(t *testing.T) {
	s := start(t, always(with(messagesapi.Fault{Kind: messagesapi.Stall, At: 10})))
	ctx, cancel := context.WithCancel(t.Context())
	raw, _ := json.Marshal(hello(object{"stream": true}))
	resp, err := http.DefaultClient.Do(request(t, s.URL()+"/v1/messages", raw).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 10)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := resp.Body.Read(first); err == nil {
		t.Error("more came than the ten bytes")
	}
}

func TestClose_ends_stalls_and_waits(t *testing.T) {
	s := start(t, always(messagesapi.Turn{Delay: time.Hour}))
	ended := make(chan error, 1)
	raw, _ := json.Marshal(hello(nil))
	req := request(t, s.URL()+"/v1/messages", raw)
	arrived := make(chan struct{})
	s.Enqueue(with(messagesapi.Fault{Kind: messagesapi.Stall}))
	go func() {
		resp, err := http.DefaultClient.Do(req)
		close(arrived)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		ended <- err
	}()
	<-arrived
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := len(s.Log()); n != 1 {
		t.Errorf("Close returned before the request had ended: %d in the log", n)
	}
	if err := <-ended; err == nil {
		t.Error("the stalled answer ended as if it were whole")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestFrames_are_spoiled_one_at_a_time(t *testing.T) {
	s := start(t, nil)
	s.Enqueue(with())
	whole, err := streamed(t, s)
	if err != nil {
		t.Fatal(err)
	}
	frames := strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")
	for name, c := range map[string]struct {
		fault messagesapi.Fault
		want  func(got []string) bool
	}{
		"double": {messagesapi.Fault{Kind: messagesapi.Double, At: 3}, func(got []string) bool {
			return len(got) == len(frames)+1 && got[3] == got[4]
		}},
		"drop": {messagesapi.Fault{Kind: messagesapi.Drop, At: 3}, func(got []string) bool {
			return len(got) == len(frames)-1 && got[3] == frames[4]
		}},
		"malform": {messagesapi.Fault{Kind: messagesapi.Malform, At: 3}, func(got []string) bool {
			_, data, _ := strings.Cut(got[3], "data: ")
			return len(got) == len(frames) && !json.Valid([]byte(data)) && strings.HasPrefix(frames[3], strings.TrimSpace(got[3]))
		}},
		"insert": {messagesapi.Fault{Kind: messagesapi.Insert, At: 3, Data: "event: odd\ndata: {}\n\n"}, func(got []string) bool {
			return len(got) == len(frames)+1 && got[3] == "event: odd\ndata: {}\n\n" && got[4] == frames[3]
		}},
		"fail": {messagesapi.Fault{Kind: messagesapi.Fail, At: 3}, func(got []string) bool {
			return len(got) == 4 && strings.HasPrefix(got[3], "event: error\n") && strings.Contains(got[3], "overloaded_error")
		}},
		"behind the end": {messagesapi.Fault{Kind: messagesapi.Drop, At: 1000}, func(got []string) bool { return len(got) == len(frames) }},
	} {
		s.Enqueue(with(c.fault))
		body, err := streamed(t, s)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.SplitAfter(strings.TrimSuffix(body, "\n\n"), "\n\n")
		// The ids in the first frame differ from answer to answer.
		if !c.want(got) || !slices.Equal(got[1:3], frames[1:3]) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestBody_of_a_turn_is_sent_as_it_is(t *testing.T) {
	s := start(t, always(messagesapi.Turn{Body: []byte("event: odd\r\ndata: {}\r\n\r\n"), ContentType: "text/plain"}))
	raw, _ := json.Marshal(hello(object{"stream": true}))
	resp, body, err := do(t, request(t, s.URL()+"/v1/messages", raw))
	if err != nil || string(body) != "event: odd\r\ndata: {}\r\n\r\n" || resp.Header.Get("content-type") != "text/plain" {
		t.Errorf("%v %q %s", err, body, resp.Header.Get("content-type"))
	}
}

func TestPause_and_Delay_pass(t *testing.T) {
	turn := say("ok") // six frames
	turn.Pause, turn.Delay = 5*time.Millisecond, 20*time.Millisecond
	s := start(t, always(turn))
	before := time.Now()
	if _, err := streamed(t, s); err != nil {
		t.Fatal(err)
	}
	if passed := time.Since(before); passed < 50*time.Millisecond {
		t.Errorf("it took %v", passed)
	}
}

func TestLog_masks_secrets_and_keeps_the_rest(t *testing.T) {
	s := start(t, always(say("ok")))
	raw, _ := json.Marshal(hello(nil))
	req := request(t, s.URL()+"/v1/messages", raw)
	req.Header.Set("authorization", "Bearer test-token")
	if _, _, err := do(t, req); err != nil {
		t.Fatal(err)
	}
	e := s.Log()[0]
	if e.Request.Header.Get("x-api-key") != messagesapi.Mask("test-key") || e.Request.Header.Get("authorization") != messagesapi.Mask("Bearer test-token") {
		t.Errorf("headers %v", e.Request.Header)
	}
	if !bytes.Equal(e.Request.Body, raw) || e.Path != "/v1/messages" || e.Status != 200 || !e.Whole || e.Usage.Input == 0 || e.Request.Version != messagesapi.Version2026 {
		t.Errorf("entry %+v", e)
	}
}

func TestLog_is_bounded(t *testing.T) {
	o := always(say("ok"))
	o.LogEntries, o.LogBytes = 5, 250
	s := start(t, o)
	for i := range 8 {
		ask(t, s, hello(object{"messages": []object{user(strings.Repeat("x", 20+i))}}))
	}
	log := s.Log()
	if len(log) != 5 || log[0].Request.Number != 4 || log[4].Request.Number != 8 {
		t.Fatalf("%d entries, from %d", len(log), log[0].Request.Number)
	}
	bytes := 0
	for i, e := range log {
		bytes += len(e.Request.Body)
		if (e.Request.Body == nil) != (e.Request.Messages == nil) {
			t.Errorf("entry %d has only one of body and messages", i)
		}
	}
	if bytes > 250 || log[4].Request.Body == nil || log[0].Request.Body != nil {
		t.Errorf("%d bytes of bodies, the newest %d", bytes, len(log[4].Request.Body))
	}
}

func TestStart_tells_why_it_cannot_listen(t *testing.T) {
	s := start(t, nil)
	if _, err := messagesapi.Start(&messagesapi.Options{Addr: strings.TrimPrefix(s.URL(), "http://")}); err == nil || !strings.HasPrefix(err.Error(), "messagesapi: ") {
		t.Errorf("got %v", err)
	}
}
