package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/flowerlua/flower/engine/model"
)

// stream is a reply while it arrives.
type stream struct {
	client *Client
	outer  context.Context // the caller's
	inner  context.Context // ended by the watchdog, too
	cancel context.CancelCauseFunc
	body   *idleBody
	front  *bufio.Reader // of body
	events ssestream.Decoder

	reply  model.Reply // its Content is made from blocks
	blocks []*block
	begun  bool
	err    error // what ended the stream
}

func newStream(c *Client, outer, inner context.Context, cancel context.CancelCauseFunc, res *http.Response) *stream {
	dog := watch(c.idle, cancel)
	dog.stop() // it runs within reads only
	s := &stream{client: c, outer: outer, inner: inner, cancel: cancel, body: &idleBody{body: res.Body, dog: dog}}
	s.reply.RequestID = c.requestID(res)
	s.front = bufio.NewReader(s.body)
	res.Body = struct {
		io.Reader
		io.Closer
	}{s.front, s.body}
	s.events = ssestream.NewDecoder(res)
	return s
}

// Close ends the stream. It may be called twice.
func (s *stream) Close() error {
	if s.reply.Complete {
		s.drain()
	}
	if s.err == nil {
		s.err = fmt.Errorf("the stream was closed: %w", os.ErrClosed)
	}
	s.cancel(nil)
	_ = s.body.Close() // a reply that broke off was told by Recv
	return nil
}

// drain reads the end of a body whose last event has come, so that the
// connection can be used again; not for long, should the end not come.
func (s *stream) drain() {
	s.body.dog = watch(100*time.Millisecond, s.cancel)
	_, _ = io.CopyN(io.Discard, s.front, 1<<10)
}

// Reply is what has arrived so far.
func (s *stream) Reply() model.Reply {
	r := s.reply
	r.Content = nil
	for _, b := range s.blocks {
		if !b.done {
			break
		}
		if b.raw != nil {
			r.Content = append(r.Content, b.raw)
		}
	}
	return r
}

// Recv returns the next piece. See model.Stream.
func (s *stream) Recv() (model.Delta, error) {
	for s.err == nil {
		if !s.events.Next() {
			s.err = s.ended(s.events.Err())
			break
		}
		d, show, err := s.take(s.events.Event())
		if err != nil {
			s.err = err
			break
		}
		if show {
			return d, nil
		}
	}
	return model.Delta{}, s.err
}

// ended tells why a body ended before the message did.
func (s *stream) ended(err error) error {
	if s.outer.Err() != nil {
		return fmt.Errorf("the reply was ended: %w", s.outer.Err())
	}
	if cause := context.Cause(s.inner); errors.Is(cause, model.ErrStalled) {
		return cause
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return model.ErrCut
	}
	return fmt.Errorf("%w: %w", model.ErrCut, s.client.text(err))
}

// garbled is a stream that does not follow the protocol. It counts as cut: what
// was complete before stays good, and asking again is the remedy.
func garbled(format string, args ...any) error {
	return fmt.Errorf("%w: the stream is garbled: %s", model.ErrCut, fmt.Sprintf(format, args...))
}

// wireEvent is any event of a stream.
type wireEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      json.RawMessage `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        *wireUsage      `json:"usage"`
}

// take handles one event; show tells whether there is a piece to show. Pings, and
// events the API may add, are passed over.
func (s *stream) take(e ssestream.Event) (d model.Delta, show bool, err error) {
	if e.Type == "error" {
		return d, false, s.failed(e.Data)
	}
	if e.Type != "" && !known[e.Type] || len(bytes.TrimSpace(e.Data)) == 0 {
		return d, false, nil
	}
	var w wireEvent
	if !utf8.Valid(e.Data) {
		return d, false, garbled("an event %q is not UTF-8", e.Type)
	}
	if err := json.Unmarshal(e.Data, &w); err != nil {
		return d, false, garbled("an event %q cannot be read", e.Type)
	}
	if !s.begun && known[w.Type] && w.Type != "message_start" {
		return d, false, garbled("%s before the message began", w.Type)
	}
	switch w.Type {
	case "message_start":
		return d, false, s.begin(w.Message)
	case "content_block_start":
		return s.open(w.Index, w.ContentBlock)
	case "content_block_delta":
		return s.grow(w.Index, w.Delta)
	case "content_block_stop":
		return s.close(w.Index)
	case "message_delta":
		return d, false, s.change(w)
	case "message_stop":
		return d, false, s.finish()
	case "error": // of a gateway that leaves the names of events out
		return d, false, s.failed(e.Data)
	}
	return d, false, nil
}

// known are the events that a message is made of.
var known = map[string]bool{
	"message_start": true, "content_block_start": true, "content_block_delta": true, "content_block_stop": true,
	"message_delta": true, "message_stop": true,
}

// failed takes an error within the stream.
func (s *stream) failed(data []byte) error {
	e := s.client.readError(0, data, "")
	if e.RequestID == "" {
		e.RequestID = s.reply.RequestID
	}
	return e
}

// begin takes message_start.
func (s *stream) begin(raw json.RawMessage) error {
	var m struct {
		ID    string    `json:"id"`
		Model string    `json:"model"`
		Usage wireUsage `json:"usage"`

		Diagnostics struct {
			Miss struct {
				Type string `json:"type"`
			} `json:"cache_miss_reason"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return garbled("the beginning of the message cannot be read")
	}
	if s.begun {
		return garbled("the message began twice")
	}
	s.begun = true
	s.client.spoke.Store(true)
	s.reply.ID, s.reply.Model, s.reply.CacheMiss = m.ID, m.Model, m.Diagnostics.Miss.Type
	m.Usage.addTo(&s.reply.Usage)
	return nil
}

// open takes content_block_start. Blocks begin in order; deltas of open blocks
// may interleave.
func (s *stream) open(index int, raw json.RawMessage) (d model.Delta, show bool, err error) {
	if index != len(s.blocks) {
		return d, false, garbled("block %d began after block %d", index, len(s.blocks)-1)
	}
	b, err := newBlock(raw)
	if err != nil {
		return d, false, err
	}
	s.blocks = append(s.blocks, b)
	if !b.isCall() {
		return d, false, nil
	}
	return model.Delta{Kind: model.ToolStart, Index: index, Text: b.text("name")}, true, nil
}

func (s *stream) openBlock(index int) (*block, error) {
	if index < 0 || index >= len(s.blocks) || s.blocks[index].done {
		return nil, garbled("a piece of block %d, which is not open", index)
	}
	return s.blocks[index], nil
}

// grow takes content_block_delta.
func (s *stream) grow(index int, raw json.RawMessage) (d model.Delta, show bool, err error) {
	b, err := s.openBlock(index)
	if err != nil {
		return d, false, err
	}
	kind, text, err := b.grow(raw)
	if err != nil {
		return d, false, err
	}
	return model.Delta{Kind: kind, Index: index, Text: text}, kind != "", nil
}

// close takes content_block_stop.
func (s *stream) close(index int) (d model.Delta, show bool, err error) {
	b, err := s.openBlock(index)
	if err != nil {
		return d, false, err
	}
	b.finish()
	return model.Delta{Kind: model.BlockDone, Index: index}, b.raw != nil, nil
}

// change takes message_delta. Its counts are those of the whole message.
func (s *stream) change(w wireEvent) error {
	var delta struct {
		StopReason  string          `json:"stop_reason"`
		StopDetails json.RawMessage `json:"stop_details"`
	}
	if err := json.Unmarshal(w.Delta, &delta); err != nil {
		return garbled("the end of the message cannot be read")
	}
	if delta.StopReason != "" {
		s.reply.StopReason = delta.StopReason
	}
	if len(delta.StopDetails) > 0 && string(delta.StopDetails) != "null" {
		s.reply.StopDetails = delta.StopDetails
	}
	if w.Usage != nil {
		w.Usage.addTo(&s.reply.Usage)
	}
	return nil
}

// finish takes message_stop: only here a reply becomes complete.
func (s *stream) finish() error {
	if s.reply.StopReason == "" {
		return garbled("the message ended without a reason")
	}
	for i, b := range s.blocks {
		switch {
		case !b.done:
			return garbled("the message ended before its block %d", i)
		case b.raw == nil && s.reply.StopReason == "tool_use":
			return garbled("the input of block %d is not JSON", i)
		}
	}
	s.reply.Complete = true
	return io.EOF
}

// wireUsage counts tokens as the API does. Counts that are left out stay what
// they were.
type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Creation   *struct {
		Long int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (w *wireUsage) addTo(u *model.Usage) {
	set := func(to *int64, n *int64) {
		if n != nil {
			*to = *n
		}
	}
	set(&u.Input, w.Input)
	set(&u.Output, w.Output)
	set(&u.CacheRead, w.CacheRead)
	set(&u.CacheWrite, w.CacheWrite)
	if w.Creation != nil {
		u.CacheWrite1h = w.Creation.Long
	}
}
