package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowerlua/flower/engine/model"
)

// watchdog cancels a request that is silent for too long.
type watchdog struct {
	timer *time.Timer // nil = waits for ever
	limit time.Duration
}

// watch starts to wait; a limit of 0 never ends.
func watch(limit time.Duration, cancel context.CancelCauseFunc) watchdog {
	if limit == 0 {
		return watchdog{}
	}
	return watchdog{limit: limit, timer: time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("%w (nothing came for %v)", model.ErrStalled, limit))
	})}
}

func (w watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w watchdog) restart() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// maxReply is how many bytes of a reply are read: far more than any model writes.
const maxReply = 256 << 20

var errTooLong = errors.New("the reply is longer than any reply can be")

// idleBody reads a body under a watchdog that runs while a read waits. A caller
// that takes its time between reads is not silence of the server.
type idleBody struct {
	body io.ReadCloser
	dog  watchdog
	read int
}

func (b *idleBody) Read(p []byte) (int, error) {
	if b.read > maxReply {
		return 0, errTooLong
	}
	b.dog.restart()
	n, err := b.body.Read(p)
	b.dog.stop()
	b.read += n
	return n, err
}

func (b *idleBody) Close() error {
	b.dog.stop()
	return b.body.Close()
}
