package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/messagesapi"
)

// serve starts the double of the API.
func serve(t testing.TB, o *messagesapi.Options) *messagesapi.Server {
	t.Helper()
	s, err := messagesapi.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// always answers every request with one turn.
func always(turn messagesapi.Turn) *messagesapi.Options {
	return &messagesapi.Options{Script: func(messagesapi.Request) messagesapi.Turn { return turn }}
}

// client is a client of a server.
func client(s *messagesapi.Server) *anthropic.Client {
	return anthropic.New(&anthropic.Options{Key: "test-key", BaseURL: s.URL()})
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// hello is a small request.
func hello() model.Request {
	return model.Request{
		Model: anthropic.DefaultModel, MaxTokens: 100,
		Messages: []model.Message{{Role: "user", Content: []json.RawMessage{raw(`{"type":"text","text":"hi"}`)}}},
	}
}

// read takes a whole reply; err is nil when it was complete.
func read(t testing.TB, c *anthropic.Client, req model.Request) ([]model.Delta, model.Reply, error) {
	t.Helper()
	stream, err := c.Stream(t.Context(), req)
	if err != nil {
		return nil, model.Reply{}, err
	}
	defer stream.Close()
	var deltas []model.Delta
	for {
		d, err := stream.Recv()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return deltas, stream.Reply(), nil
		}
		if err != nil {
			if _, again := stream.Recv(); again == nil || again.Error() != err.Error() {
				t.Errorf("first %v, then %v", err, again)
			}
			return deltas, stream.Reply(), err
		}
		deltas = append(deltas, d)
	}
}

// content is the content of a reply in one line.
func content(r model.Reply) string {
	var list []string
	for _, c := range r.Content {
		list = append(list, string(c))
	}
	return strings.Join(list, " ")
}

// turn is a turn of blocks.
func turn(blocks ...messagesapi.Block) messagesapi.Turn { return messagesapi.Turn{Blocks: blocks} }

// recorded is a stream as the API sends it, with thinking, text and a tool call,
// escapes, a ping within, and white space where JSON allows it.
const recorded = "event: message_start\n" +
	`data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":30,"cache_read_input_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":1}}}` + "\n\n" +
	"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}` + "\n\n" +
	"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm \u003c\ud83d"}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00 é\/"}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/="}}` + "\n\n" +
	"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
	"event: content_block_start\n" + `data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}` + "\n\n" +
	"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":1}` + "\n\n" +
	"event: content_block_start\n" + `data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{},"caller":{"type": "direct"}}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\":  1.0, \"command\": \"echo \\u00"}}` + "\n\n" +
	"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"e9 \\\"ä\\\"\"}"}}` + "\n\n" +
	"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":2}` + "\n\n" +
	"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":33}}` + "\n\n" +
	"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"

// recordedBlocks are the blocks of recorded.
var recordedBlocks = []string{
	`{"type":"thinking","thinking":"Hm \u003c\ud83d\ude00 é\/","signature":"EqQB+/="}`,
	`{"type":"text","text":"I look."}`,
	`{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"n":  1.0, "command": "echo \u00e9 \"ä\""},"caller":{"type": "direct"}}`,
}
