package playback

// What came of a request, as it is written down and as it is played.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
)

// reply is a model.Reply, whole or as far as it came.
type reply struct {
	ID          string            `json:"id,omitempty"`
	Model       string            `json:"model,omitempty"`
	RequestID   string            `json:"request_id,omitempty"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason,omitempty"`
	StopDetails json.RawMessage   `json:"stop_details,omitempty"`
	Usage       model.Usage       `json:"usage"`
	CacheMiss   string            `json:"cache_miss,omitempty"`
	Complete    bool              `json:"complete"`
}

func newReply(r model.Reply) *reply {
	out := &reply{ID: r.ID, Model: r.Model, RequestID: r.RequestID, StopReason: r.StopReason,
		StopDetails: r.StopDetails, Usage: r.Usage, CacheMiss: r.CacheMiss, Complete: r.Complete}
	out.Content = make([]json.RawMessage, len(r.Content))
	for i, raw := range r.Content {
		out.Content[i] = encodable(raw)
	}
	return out
}

// model is the reply in the present places.
func (r *reply) model(names renamer) model.Reply {
	out := model.Reply{ID: r.ID, Model: r.Model, RequestID: r.RequestID, StopReason: r.StopReason,
		StopDetails: r.StopDetails, Usage: r.Usage, CacheMiss: r.CacheMiss, Complete: r.Complete}
	for _, raw := range r.Content {
		out.Content = append(out.Content, names.raw(decodable(raw)))
	}
	return out
}

// encodable is a piece of JSON, or a string of the bytes where they are none: a model
// may break off within a call.
func encodable(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	quoted, _ := json.Marshal(string(raw)) // a string always marshals
	return quoted
}

// decodable undoes encodable. A block is an object, so a string is one of these.
func decodable(raw json.RawMessage) json.RawMessage {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}

// The kinds of errors.
const (
	kindAnswer     = "answer"     // the provider answered with an error
	kindCut        = "cut"        // the reply ended before the message did
	kindStalled    = "stalled"    // nothing came any more
	kindConnection = "connection" // whatever else went wrong
	kindStopped    = "stopped"    // the caller ended it
)

// replyError is an error by which an exchange ended.
type replyError struct {
	Kind string `json:"kind"`
	// Begun: the reply had begun; exchange.Reply is what of it came.
	Begun      bool    `json:"begun"`
	Text       string  `json:"text"`
	Status     int     `json:"status,omitempty"`
	Type       string  `json:"type,omitempty"`
	RetryAfter float64 `json:"retry_after_s,omitempty"`
	RequestID  string  `json:"request_id,omitempty"`
	// Class is what package failure made of a connection's error.
	Class string `json:"class,omitempty"`
}

func newReplyError(ctx context.Context, err error, begun bool) *replyError {
	out := &replyError{Kind: kindConnection, Begun: begun, Text: err.Error()}
	var answer *model.Error
	switch {
	case ctx.Err() != nil:
		out.Kind = kindStopped
	case errors.As(err, &answer):
		*out = replyError{Kind: kindAnswer, Begun: begun, Text: answer.Message, Status: answer.Status,
			Type: answer.Type, RetryAfter: answer.Retry.Seconds(), RequestID: answer.RequestID}
	case errors.Is(err, model.ErrStalled):
		out.Kind = kindStalled
	case errors.Is(err, model.ErrCut):
		out.Kind = kindCut
	default:
		out.Class = failure.Classify(err).String()
	}
	return out
}

// err is the error as it was, to whoever looks at what kind it is.
func (e *replyError) err() error {
	switch e.Kind {
	case kindAnswer:
		return &model.Error{Status: e.Status, Type: e.Type, Message: e.Text,
			Retry: time.Duration(e.RetryAfter * float64(time.Second)), RequestID: e.RequestID}
	case kindStalled:
		return &brokenOff{e.Text, model.ErrStalled}
	case kindCut:
		return &brokenOff{e.Text, model.ErrCut}
	}
	switch e.Class {
	case failure.Transient.String():
		return &failed{e.Text, "api_error"}
	case failure.Fatal.String():
		return &failed{e.Text, "invalid_request_error"}
	}
	return errors.New(e.Text) // what the words say was looked at when it was recorded
}

// brokenOff is a reply that did not come to its end.
type brokenOff struct {
	text string
	of   error
}

func (e *brokenOff) Error() string { return e.text }
func (e *brokenOff) Unwrap() error { return e.of }

// failed is an error of a connection, of which the class is left: package failure
// reads it from a type.
type failed struct{ text, kind string }

func (e *failed) Error() string             { return e.text }
func (e *failed) StatusCode() int           { return 0 }
func (e *failed) ErrorType() string         { return e.kind }
func (e *failed) RetryAfter() time.Duration { return 0 }

// played is a recorded reply as a stream: a piece for each block.
type played struct {
	reply  model.Reply
	deltas []model.Delta
	done   int   // blocks whose end was told
	err    error // behind the last piece
	ended  bool
}

// play makes the stream of an exchange, or the error its request ended with.
func (x *exchange) play(names renamer) (model.Stream, error) {
	if x.Error != nil && !x.Error.Begun {
		return nil, x.Error.err()
	}
	s := &played{err: io.EOF}
	if x.Reply != nil {
		s.reply = x.Reply.model(names)
	}
	if x.Error != nil {
		s.err = x.Error.err()
	}
	for i, raw := range s.reply.Content {
		var b struct{ Type, Text, Thinking, Name string }
		if json.Unmarshal(raw, &b) == nil {
			switch b.Type {
			case "text":
				s.deltas = append(s.deltas, model.Delta{Kind: model.TextDelta, Index: i, Text: b.Text})
			case "thinking":
				s.deltas = append(s.deltas, model.Delta{Kind: model.ThinkingDelta, Index: i, Text: b.Thinking})
			case "tool_use":
				s.deltas = append(s.deltas, model.Delta{Kind: model.ToolStart, Index: i, Text: b.Name})
			}
		}
		s.deltas = append(s.deltas, model.Delta{Kind: model.BlockDone, Index: i})
	}
	return s, nil
}

func (s *played) Recv() (model.Delta, error) {
	if len(s.deltas) == 0 {
		s.ended = true
		return model.Delta{}, s.err
	}
	d := s.deltas[0]
	s.deltas = s.deltas[1:]
	if d.Kind == model.BlockDone {
		s.done++
	}
	return d, nil
}

func (s *played) Reply() model.Reply {
	r := s.reply
	r.Content = r.Content[:s.done:s.done]
	r.Complete = r.Complete && s.ended
	if !s.ended {
		r.StopReason = ""
	}
	return r
}

func (s *played) Close() error { return nil }
