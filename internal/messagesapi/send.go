package messagesapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// send answers with a message and lets happen the faults of its turn.
func (s *Server) send(c *call, turn Turn, m *reply) error {
	var parts [][]byte
	kind := "application/json"
	switch {
	case turn.Body != nil:
		parts = [][]byte{turn.Body}
	case c.seen.Request.Stream:
		parts = spoil(m.frames(turn.Piece), turn.Faults, c.id)
	default:
		parts = [][]byte{m.message(false)}
	}
	if c.seen.Request.Stream {
		kind = "text/event-stream; charset=utf-8"
	}
	if turn.ContentType != "" {
		kind = turn.ContentType
	}
	c.head(http.StatusOK, kind)
	out := newSender(s, c, turn)
	defer func() { c.seen.Sent += out.sent }()
	for _, part := range parts {
		err := out.write(part)
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if turn.Pause > 0 && !s.wait(c.r.Context(), turn.Pause) {
			return errBroken
		}
	}
	return nil
}

// spoil lets happen the faults of frames.
func spoil(frames [][]byte, faults []Fault, requestID string) [][]byte {
	var out [][]byte
	for i, frame := range frames {
		sent := [][]byte{frame}
		for _, f := range faults {
			if f.At != i {
				continue
			}
			switch f.Kind {
			case Malform:
				sent = [][]byte{malformed(frame)}
			case Double:
				sent = append(sent, frame)
			case Drop:
				sent = nil
			case Insert:
				sent = append([][]byte{[]byte(f.Data)}, sent...)
			case Fail:
				return append(out, failure(f.Error, requestID))
			}
		}
		out = append(out, sent...)
	}
	return out
}

// malformed is a frame whose data stops in the middle.
func malformed(frame []byte) []byte {
	data := bytes.TrimRight(frame, "\n")
	start := bytes.Index(data, []byte("data: ")) + len("data: ")
	half := start + (len(data)-start)/2
	return append(bytes.Clone(data[:half]), '\n', '\n')
}

// failure is an error event.
func failure(e *Error, requestID string) []byte {
	if e == nil {
		e = &Error{Status: 529}
	}
	data, err := plainJSON(e.filled().wire(requestID))
	if err != nil {
		data = null
	}
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", data)
}

// errEnd ends a body as if it were whole.
var errEnd = errors.New("body ends here")

// sender writes a body and lets happen the faults of its bytes.
type sender struct {
	w      http.ResponseWriter
	ctx    context.Context
	wait   func(context.Context, time.Duration) bool
	faults []Fault // of bytes, in order
	sent   int
}

func newSender(s *Server, c *call, turn Turn) *sender {
	out := &sender{w: c.w, ctx: c.r.Context(), wait: s.wait}
	for _, f := range turn.Faults {
		if f.Kind == Cut || f.Kind == End || f.Kind == Stall {
			out.faults = append(out.faults, f)
		}
	}
	slices.SortStableFunc(out.faults, func(a, b Fault) int { return a.At - b.At })
	return out
}

// write sends p, as far as a fault lets it.
func (o *sender) write(p []byte) error {
	for len(o.faults) > 0 && o.faults[0].At <= o.sent+len(p) {
		f := o.faults[0]
		o.faults = o.faults[1:]
		n := max(f.At-o.sent, 0)
		if err := o.flush(p[:n]); err != nil {
			return err
		}
		p = p[n:]
		switch f.Kind {
		case Cut:
			return errBroken
		case End:
			return errEnd
		}
		if !o.wait(o.ctx, f.For) {
			return errBroken
		}
	}
	return o.flush(p)
}

func (o *sender) flush(p []byte) error {
	n, err := o.w.Write(p)
	o.sent += n
	if err == nil {
		err = http.NewResponseController(o.w).Flush()
	}
	if err != nil {
		return errBroken // the client left
	}
	return nil
}
