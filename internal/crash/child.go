package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// childEnv makes the program a child: "work session dir".
const childEnv = "FLOWER_CRASH_CHILD"

// patience is how long a child may say nothing.
const patience = 60 * time.Second

// works are what a child can do. Each tells on standard output, a line each, what
// the store has acknowledged.
var works = map[string]func(ctx context.Context, st *store.Store, session string) error{
	"append":  func(ctx context.Context, st *store.Store, s string) error { return write(ctx, st, s, 1, 0) },
	"rotate":  func(ctx context.Context, st *store.Store, s string) error { return write(ctx, st, s, 50, 900) },
	"collect": collect,
	"hold":    func(context.Context, *store.Store, string) error { select {} },
}

// work is what a child does until it is killed.
func work(spec string) error {
	part := strings.SplitN(spec, " ", 3)
	if part[0] == "full" {
		return fillDisks(context.Background(), part[2])
	}
	options := &store.Options{GCEvery: -1}
	kind, heedless := strings.CutPrefix(part[0], "heedless-")
	if heedless {
		options.MinFree = -1
	}
	st, err := store.Open(part[2], options)
	if err != nil {
		return err
	}
	fmt.Println("open")
	return errors.Join(works[kind](context.Background(), st, part[1]), st.Close())
}

func key(session string) transcript.Key { return transcript.Key{Project: "p", Session: session} }

// numbered is the entry that stands at seq in a session. Size 0 means all sizes,
// also those that the store keeps as files.
func numbered(session string, seq uint64, size int) transcript.Entry {
	if size == 0 {
		size = int(seq*7919%5000) + 1
		if seq%97 == 0 {
			size = 1<<20 + int(seq)
		}
	}
	return storetest.Entry(fmt.Sprint(session, "-", seq), strings.Repeat(strconv.FormatUint(seq%10, 10), size))
}

// write appends for ever, from where the session ends.
func write(ctx context.Context, st *store.Store, session string, batch, size int) error {
	h, err := st.Head(ctx, key(session))
	if err != nil && !errors.Is(err, transcript.ErrNotFound) {
		return err
	}
	for last := h.Last; ; {
		var es []transcript.Entry
		for i := range batch {
			es = append(es, numbered(session, last+uint64(i)+1, size))
		}
		if last, err = st.Append(ctx, key(session), last, es); err != nil {
			return err
		}
		fmt.Println(last)
	}
}

// collect makes waste beside what it writes, and has it collected, for ever.
func collect(ctx context.Context, st *store.Store, session string) error {
	failed := make(chan error, 1)
	go func() { failed <- write(ctx, st, session, 20, 2000) }()
	for i := 0; ; i++ {
		waste := fmt.Sprint("waste", i%4)
		var es []transcript.Entry
		for n := range uint64(1500) {
			es = append(es, numbered(fmt.Sprint(waste, "-", i), n+1, 4000))
		}
		if err := st.Delete(ctx, key(waste)); err != nil {
			return err
		}
		if _, err := st.Append(ctx, key(waste), 0, es); err != nil {
			return err
		}
		if _, err := st.GC(ctx); err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		default:
		}
	}
}

// said is a line of a child, and when it was heard.
type said struct {
	line string
	at   time.Time
}

// child is a process that works with a store.
type child struct {
	cmd   *exec.Cmd
	lines chan said
	told  []said
	ended bool
}

// start begins a process; what it says on standard error goes to errOut.
func start(work, session, dir string, errOut io.Writer) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self), lines: make(chan said, 1<<18)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+work+" "+session+" "+dir)
	c.cmd.Stderr = errOut
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- said{s.Text(), time.Now()}
		}
	}()
	return c, nil
}

// next waits for a line.
func (c *child) next() (said, error) {
	select {
	case s, ok := <-c.lines:
		if !ok {
			return s, errors.New("a process ended by itself")
		}
		c.told = append(c.told, s)
		return s, nil
	case <-time.After(patience):
		return said{}, fmt.Errorf("a process said nothing for %v", patience)
	}
}

// kill ends the process as kill -9 does, and takes all that it said. Twice is no
// error.
func (c *child) kill() {
	if c.ended {
		return
	}
	c.ended = true
	_ = c.cmd.Process.Kill() // it may have ended by itself
	c.drain()
}

// drain takes all that the process says until it ends.
func (c *child) drain() error {
	for s := range c.lines {
		c.told = append(c.told, s)
	}
	return c.cmd.Wait()
}

// stall is the longest time between two acknowledgements from the last before a
// moment on, until three have come after it.
func (c *child) stall(since time.Time) (longest time.Duration, err error) {
	last := c.told[len(c.told)-1].at
	for after := 0; after < 3; {
		s, err := c.next()
		if err != nil {
			return longest, err
		}
		if s.at.After(since) {
			after++
			longest = max(longest, s.at.Sub(last))
		}
		last = s.at
	}
	return longest, nil
}

// acked is the newest entry that was acknowledged to the process.
func (c *child) acked() (last uint64) {
	for _, s := range c.told {
		if n, err := strconv.ParseUint(s.line, 10, 64); err == nil {
			last = n
		}
	}
	return last
}
