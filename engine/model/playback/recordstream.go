package playback

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/flowerlua/flower/engine/model"
)

// Stream asks the recorded model. The exchange is on disk before its end is told.
func (r *Recorder) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	t := r.talk(&req)
	begun := r.o.Now()
	inner, err := r.inner.Stream(ctx, req)
	if t == nil {
		return inner, err
	}
	s := &recorded{Stream: inner, ctx: ctx, recorder: r, talk: t, req: req, begun: begun}
	if err != nil {
		s.keep(exchange{Error: newReplyError(ctx, err, false)})
		return nil, err
	}
	return s, nil
}

// recorded is a stream that is written down when it ends.
type recorded struct {
	model.Stream
	ctx      context.Context // of the request, to tell who ended it
	recorder *Recorder
	talk     *talk
	req      model.Request
	begun    time.Time
	kept     bool
}

func (s *recorded) Recv() (model.Delta, error) {
	d, err := s.Stream.Recv()
	if err == nil || s.kept {
		return d, err
	}
	x := exchange{Reply: newReply(s.Stream.Reply())}
	if !errors.Is(err, io.EOF) {
		x.Error = newReplyError(s.ctx, err, true)
	}
	s.keep(x)
	return d, err
}

// Close ends the stream; one that was not read to its end is recorded as far as it
// came.
func (s *recorded) Close() error {
	if !s.kept {
		s.keep(exchange{Reply: newReply(s.Stream.Reply()),
			Error: &replyError{Kind: kindStopped, Begun: true, Text: "the stream was closed before its end"}})
	}
	return s.Stream.Close()
}

func (s *recorded) keep(x exchange) {
	s.kept = true
	x.Time = s.begun
	x.Took = s.recorder.o.Now().Sub(s.begun).Seconds()
	s.recorder.write(s.talk, s.req, x)
	s.req = model.Request{} // its messages are not held any longer than needed
}
