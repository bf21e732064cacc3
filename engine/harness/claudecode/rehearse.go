package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/internal/messagesapi"
	"github.com/flowerlua/flower/internal/proxy"
)

// serveModel lets a model answer over HTTP on loopback, as the program wants to be
// answered. meta says who asks, by the subagent's id. The function returned ends
// it, and returns when no request is served any more.
func serveModel(m model.Model, n names, meta func(agent string) model.Meta) (url string, end func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := messagesapi.Start(&messagesapi.Options{MergeRoles: true, Window: 1 << 30, LogEntries: 1, LogBytes: 1,
		Script: func(q messagesapi.Request) messagesapi.Turn {
			who := meta(q.Header.Get(proxy.AgentHeader))
			who.Turn = q.Turn()
			return modelTurn(ctx, m, n, q, who)
		}})
	if err != nil {
		cancel()
		return "", nil, err
	}
	return s.URL(), func() error { cancel(); return s.Close() }, nil
}

// modelTurn asks the model for one answer.
func modelTurn(ctx context.Context, m model.Model, n names, q messagesapi.Request, who model.Meta) messagesapi.Turn {
	req, err := modelRequest(q.Body)
	if err != nil {
		return messagesapi.Turn{Error: &messagesapi.Error{Status: http.StatusBadRequest, Message: err.Error()}}
	}
	req.Meta = who
	stream, err := m.Stream(ctx, req)
	if err != nil {
		return failedTurn(err)
	}
	defer stream.Close()
	for {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		return failedTurn(err)
	}
	reply := stream.Reply()
	t := messagesapi.Turn{StopReason: reply.StopReason}
	for _, raw := range reply.Content {
		t.Blocks = append(t.Blocks, modelBlock(raw, n))
	}
	if u := reply.Usage; u != (model.Usage{}) {
		t.Usage = &messagesapi.Usage{Input: int(u.Input), Output: int(u.Output), CacheRead: int(u.CacheRead),
			CacheWrite5m: int(u.CacheWrite - u.CacheWrite1h), CacheWrite1h: int(u.CacheWrite1h)}
	}
	return t
}

// failedTurn answers with a model's error. What is no error of the provider's is
// said as one that is not worth another try.
func failedTurn(err error) messagesapi.Turn {
	var e *model.Error
	if errors.As(err, &e) && e.Status >= 400 {
		return messagesapi.Turn{Error: &messagesapi.Error{Status: e.Status, Type: e.Type, Message: e.Message, RetryAfter: e.Retry}}
	}
	return messagesapi.Turn{Error: &messagesapi.Error{Status: http.StatusBadRequest, Message: err.Error()}}
}

// modelBlock is a block of a reply as the server sends it.
func modelBlock(raw json.RawMessage, n names) messagesapi.Block {
	var b block
	if lenient(raw, &b) == nil {
		switch b.Type {
		case "text":
			return messagesapi.Text(b.Text)
		case "thinking":
			return messagesapi.Thinking(b.Thinking)
		case "tool_use":
			return messagesapi.ToolUse(b.ID, n.theirs(b.Name), string(b.Input))
		}
	}
	return messagesapi.Raw(string(raw))
}

// modelRequest is the program's request in the pieces of the model contract.
func modelRequest(body []byte) (model.Request, error) {
	var in struct {
		Model     string            `json:"model"`
		MaxTokens int               `json:"max_tokens"`
		System    json.RawMessage   `json:"system"`
		Tools     []json.RawMessage `json:"tools"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return model.Request{}, err
	}
	req := model.Request{Model: in.Model, MaxTokens: in.MaxTokens, System: rawBlocks(in.System), Tools: in.Tools}
	for _, m := range in.Messages {
		if m.Role != "system" { // reminders between the turns, which no rehearsal counts
			req.Messages = append(req.Messages, model.Message{Role: m.Role, Content: rawBlocks(m.Content)})
		}
	}
	return req, nil
}

// rawBlocks are the blocks of a content, a string being one of text.
func rawBlocks(content json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(content, &text) != nil {
		return nil
	}
	raw, err := json.Marshal(map[string]string{"type": "text", "text": text})
	if err != nil {
		return nil
	}
	return []json.RawMessage{raw}
}
