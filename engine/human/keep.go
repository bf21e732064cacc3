package human

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowerlua/flower/engine/transcript"
)

// What outlives the process: each question under its call, the number of the last
// question, and mail that was not taken out.

func (c *Channel) name(what string) string { return "human/" + c.o.Project + "/" + what }

// kept is the question that this call asked in an earlier process.
func (c *Channel) kept(ctx context.Context, call string) (q Question, ok bool) {
	if call == "" {
		return Question{}, false
	}
	err := c.read(ctx, "call/"+call, &q)
	if err != nil && !errors.Is(err, errNoStore) && !errors.Is(err, transcript.ErrNotFound) {
		c.note(err)
	}
	return q, err == nil
}

func (c *Channel) keep(ctx context.Context, call string, q Question) {
	if call == "" {
		return
	}
	c.note(c.change(ctx, "call/"+call, func([]byte) any { return q }))
}

// nextID numbers questions, across processes where there is a store.
func (c *Channel) nextID(ctx context.Context) string {
	var n int
	err := c.change(ctx, "last", func(old []byte) any {
		n = 0
		_ = json.Unmarshal(old, &n) // absent counts as 0
		n++
		return n
	})
	c.note(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Store == nil || err != nil {
		n = c.lastID + 1
	}
	c.lastID = max(c.lastID, n)
	return fmt.Sprintf("q%d", n)
}

// takeUp reads the mail that an earlier process left.
func (c *Channel) takeUp(ctx context.Context) error {
	err := c.read(ctx, "mail", &c.mail)
	if errors.Is(err, errNoStore) || errors.Is(err, transcript.ErrNotFound) {
		return nil
	}
	return err
}

func (c *Channel) read(ctx context.Context, what string, into any) error {
	if c.o.Store == nil {
		return errNoStore
	}
	raw, _, err := c.o.Store.Get(ctx, c.name(what))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", c.name(what), err)
	}
	return nil
}

// change replaces a value by what next makes of the old one; nothing without a
// store.
func (c *Channel) change(ctx context.Context, what string, next func(old []byte) any) error {
	if c.o.Store == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	for range 32 {
		old, rev, err := c.o.Store.Get(ctx, c.name(what))
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return err
		}
		raw, err := json.Marshal(next(old))
		if err != nil {
			return err
		}
		_, err = c.o.Store.Put(ctx, c.name(what), raw, rev)
		if !errors.Is(err, transcript.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s: others keep writing it", c.name(what))
}
