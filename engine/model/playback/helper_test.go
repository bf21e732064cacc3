package playback_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// provider is the Messages API over HTTP, and a client of it.
func provider(t *testing.T, script func(messagesapi.Request) messagesapi.Turn) model.Model {
	t.Helper()
	s, err := messagesapi.Start(&messagesapi.Options{Script: script, Keys: []string{"test-key"}, MergeRoles: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL()})
}

// echo says what it was asked.
func echo(r messagesapi.Request) messagesapi.Turn {
	return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("You said: " + r.Prompt())}}
}

func text(s string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"type": "text", "text": s})
	if err != nil {
		panic(err)
	}
	return raw
}

// user and assistant are messages of one block each.
func user(content ...json.RawMessage) model.Message {
	return model.Message{Role: "user", Content: content}
}

func assistant(content ...json.RawMessage) model.Message {
	return model.Message{Role: "assistant", Content: content}
}

func toolUse(id string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":"a"}}`, id))
}

func toolResult(id, rest string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q%s}`, id, rest))
}

// request asks on the main thread of a session.
func request(session string, messages ...model.Message) model.Request {
	turn := 1
	for _, m := range messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	return model.Request{Model: "claude-sonnet-5-5", MaxTokens: 1000, System: []json.RawMessage{text("Be short.")}, Messages: messages,
		Meta: model.Meta{Step: "step", Role: "agent", Session: session, Turn: turn}}
}

// ask reads an answer to its end.
func ask(m model.Model, req model.Request) (model.Reply, error) {
	stream, err := m.Stream(context.Background(), req)
	if err != nil {
		return model.Reply{}, err
	}
	defer stream.Close()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return stream.Reply(), nil
		} else if err != nil {
			return stream.Reply(), err
		}
	}
}

// said is the text of an answer that must come.
func said(t *testing.T, m model.Model, req model.Request) string {
	t.Helper()
	reply, err := ask(m, req)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, raw := range reply.Content {
		var b struct{ Text string }
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

func record(t *testing.T, dir string, m model.Model, o *playback.RecordOptions) *playback.Recorder {
	t.Helper()
	r, err := playback.Record(dir, m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// finish ends a recording as a run does that came to its end.
func finish(t *testing.T, r *playback.Recorder) {
	t.Helper()
	if err := errors.Join(r.Finish(), r.Close()); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *playback.Player {
	t.Helper()
	p, err := playback.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// recording is a folder with the exchanges of requests, answered by script.
func recording(t *testing.T, script func(messagesapi.Request) messagesapi.Turn, requests ...model.Request) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	r := record(t, dir, provider(t, script), nil)
	for _, q := range requests {
		_, _ = ask(r, q) // errors are recorded too
	}
	finish(t, r)
	return dir
}

// files are the names in a folder but for the lock.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
