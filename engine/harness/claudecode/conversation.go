package claudecode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/harness"
)

// conversation is the life of one process: its frames are taken on the goroutine
// of Run, its requests answered on others.
type conversation struct {
	*run
	prompt  string
	program *program
	link    *link
	frames  chan frame
	ready   <-chan response // to the greeting
	read    chan error      // how reading the output ended

	result *frame // the last one
	words  *string
	texts  []string
	last   []string // prose of the last message
	lastID string
	tally  tally
}

// ending is how a turn ended without an error.
type ending struct {
	stop       harness.Stop
	detail     string
	words      string
	text, last string
	main, sub  harness.Account // turns, calls and dispatches alone
}

const interruptedText = "a person interrupted the turn"

// How long the program has to end a turn that it is told to stop.
const stopGrace = 5 * time.Second

// recordGrace is how long the program may take to record a question that it is
// waiting for an answer to.
const recordGrace = 500 * time.Millisecond

// start starts the program and greets it; hold or abandon must be called.
func (c *conversation) start(ctx context.Context) error {
	args, err := c.args()
	if err != nil {
		return fmt.Errorf("agent %s: %w", c.turn.Agent.Name, err)
	}
	env, err := c.environment()
	if err == nil {
		err = c.writeServers()
	}
	if err != nil {
		return err
	}
	if c.program, err = launch(start{path: c.path, args: args, env: env, dir: c.dir, mark: c.mark}); err != nil {
		return err
	}
	// What is being served ends with the program, in order, not before it.
	c.link = newLink(context.WithoutCancel(ctx), c.program.send, c.serve)
	c.frames = make(chan frame, maxPending)
	c.read = make(chan error, 1)
	go func() { c.read <- c.listen() }()
	c.ready = c.link.ask(c.initialize())
	return nil
}

// hold gives the program the prompt and works until it is gone.
func (c *conversation) hold(ctx context.Context, prompt string) (ending, error) {
	c.prompt = prompt
	c.converse(ctx)
	return c.end(ctx, c.finish())
}

// listen takes the program's output until its end: transcripts and requests at once,
// in their order, the rest on the goroutine of Run.
func (c *conversation) listen() error {
	defer c.program.last()
	defer close(c.frames)
	defer c.link.fail(errClosed)
	for in := newFrames(c.program.out); ; {
		f, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the output of claude code could not be read: %w", err)
		case f.Type == "transcript_mirror":
			if err := c.journal.mirror(f); err != nil {
				c.fail(err)
			}
		case f.Type == "result":
			c.over(f)
			c.frames <- f
		case !c.link.take(f):
			c.frames <- f
		}
	}
}

// over closes the books with the result of the turn, in the order of the output:
// what the program begins by itself behind it, when a command in the background
// ends, is none of this turn's.
func (c *conversation) over(f frame) {
	c.journal.hush()
	c.ledger.close()
	if f.Subtype == "error_during_execution" && f.NumTurns == 0 {
		c.link.fail(errClosed) // no conversation was found, for one: no answer will come any more
	}
}

// waits are what a conversation waits for, beside frames; nil for what has come.
type waits struct {
	ready   <-chan response // to the greeting
	servers <-chan struct{} // reached; then the prompt is sent
	started <-chan struct{}
	words   <-chan string
	done    <-chan struct{}
	failed  <-chan struct{}
	late    <-chan time.Time // when to wait no longer
	hush    func()           // then; nil for nothing
}

// startGrace is how long the program may take to answer the greeting, on a machine
// that is busy.
const startGrace = 3 * time.Minute

// converse goes on until the result of the turn is there, the program is gone, or
// something stops it and it had its time to end.
func (c *conversation) converse(ctx context.Context) {
	w := waits{ready: c.ready, started: c.journal.started, words: c.turn.Interrupt, done: ctx.Done(), failed: c.failed,
		late: time.After(startGrace)}
	if c.turn.Session.Resume != "" {
		w.started = nil
	}
	for c.result == nil && c.next(ctx, &w) {
	}
	select {
	case <-w.started:
		c.known()
	default:
	}
}

// next waits for one thing and acts on it; false ends the conversation.
func (c *conversation) next(ctx context.Context, w *waits) bool {
	select {
	case f, ok := <-c.frames:
		if ok {
			c.take(f)
		}
		return ok
	case answer, ok := <-w.ready:
		w.ready = nil
		switch {
		case ok && answer.Subtype == "success":
			w.late, w.servers = nil, c.connected()
		case ok:
			c.fail(fmt.Errorf("claude code does not take the agent %s: %s", c.turn.Agent.Name, answer.Error))
		}
	case <-w.servers:
		w.servers = nil
		c.send()
	case <-w.started:
		w.started = nil
		c.known()
	case words, ok := <-w.words:
		if w.words = nil; ok && !c.stopping.Load() {
			c.words = &words
			c.stop(w, nil)
		}
	case <-w.done:
		w.done = nil
		c.stop(w, context.Cause(ctx))
	case <-w.failed:
		w.failed = nil
		c.stop(w, c.failure)
	case <-w.late:
		if !c.stopping.Load() {
			c.fail(fmt.Errorf("claude code did not answer within %s of its start", startGrace))
		}
		if w.hush != nil {
			w.hush()
		}
		return false
	}
	return true
}

// stop tells the program to end the turn; why is nil when a person wants it to.
func (c *conversation) stop(w *waits, why error) {
	c.stopping.Store(true)
	switch {
	case why != nil && c.servers.asks():
		w.late, w.hush = time.After(recordGrace), c.journal.hush
	case w.ready != nil || w.servers != nil:
		w.ready, w.servers = nil, nil
		w.late = time.After(0) // it has not begun
	default:
		c.link.ask(map[string]any{"subtype": "interrupt"})
		w.late = time.After(stopGrace)
	}
}

// send gives the program the prompt, which is recorded by us until it is by the
// program.
func (c *conversation) send() {
	id := c.h.config.NewID()
	if err := c.journal.add(note{Asked: &asked{UUID: id, Text: c.prompt}}); err != nil {
		c.fail(err)
		return
	}
	c.link.write(map[string]any{"type": "user", "session_id": "", "uuid": id, "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": c.prompt}})
}

// finish ends the program, takes what it still says, and returns how reading its
// output ended.
func (c *conversation) finish() error {
	patience := closeGrace
	if c.result == nil {
		patience = 0
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.program.close(patience)
	}()
	for f := range c.frames {
		c.take(f)
	}
	<-gone
	err := <-c.read
	c.link.close()
	return err
}

// end is what the turn came to.
func (c *conversation) end(ctx context.Context, readErr error) (ending, error) {
	e := ending{text: strings.Join(c.texts, "\n\n"), last: strings.Join(c.last, "\n\n"), main: c.tally.main, sub: c.tally.sub}
	select {
	case <-c.failed:
		return e, c.failure
	default:
	}
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case c.words != nil:
		e.stop, e.detail, e.words = harness.Interrupted, interruptedText, *c.words
		return e, nil
	case c.result == nil:
		return e, errors.Join(c.died(), readErr)
	}
	var err error
	e.stop, e.detail, err = c.judge(*c.result)
	return e, err
}

// died is why the program ended without a result.
func (c *conversation) died() error {
	if err := c.program.end(); err != nil {
		return fmt.Errorf("%w (versions of this harness: tried on %s)", err, Tried)
	}
	return errors.New("claude code ended without a result")
}

// judge makes a stop or an error of the program's result. is_error decides, not
// the subtype; a request that was refused here decides before both.
func (c *conversation) judge(f frame) (harness.Stop, string, error) {
	if stop, detail := c.ledger.refused(); stop != "" {
		return stop, detail, nil
	}
	text := f.Result
	if text == "" {
		text = strings.Join(f.Errors, "; ")
	}
	switch {
	case f.Subtype == "error_max_turns":
		return harness.MaxTurns, fmt.Sprintf("%d turns are the limit", c.turn.Limits.Turns), nil
	case f.StopReason == "refusal":
		return harness.Refusal, "the model declined to answer", nil
	case c.tally.errorWord == "max_output_tokens":
		return harness.MaxTokens, "the answer reached its limit of tokens again and again", nil
	case f.StopReason == "model_context_window_exceeded":
		return harness.WindowExceeded, "the answer did not fit into the model's window any more", nil
	case !f.IsError && len(c.texts) == 0 && c.tally.main.ToolCalls == 0:
		return harness.Empty, "the model answered with neither text nor a call", nil
	case !f.IsError:
		return harness.EndTurn, "", nil
	}
	if err := c.ledger.failure(); err != nil {
		return "", "", fmt.Errorf("claude code: %w", err)
	}
	return "", "", fmt.Errorf("claude code: %s", text)
}
