package native

// What is done about a request that the provider will not take: the same bytes are
// never sent twice, and what made it refuse is left out where that can be told.

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/model"
)

// faults remembers requests that were refused as they are: the same bytes would be
// refused again.
type faults struct {
	mu      sync.Mutex
	refused map[string]refusal // by transcript
}

type refusal struct {
	body [sha256.Size]byte
	err  error
}

// maxRefusals bounds what faults remembers.
const maxRefusals = 256

// check returns the refusal of these very bytes, if there was one.
func (f *faults) check(key string, req model.Request) error {
	f.mu.Lock()
	r, known := f.refused[key]
	f.mu.Unlock()
	if known && fingerprint(req) == r.body {
		return fmt.Errorf("the same request was refused before and is not sent again: %w", r.err)
	}
	return nil
}

// note remembers a refusal.
func (f *faults) note(key string, req model.Request, err error) {
	var e *model.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil || len(f.refused) >= maxRefusals {
		f.refused = map[string]refusal{}
	}
	f.refused[key] = refusal{fingerprint(req), err}
}

// fingerprint stands for a request but for the length of the answer, which a
// budget may change.
func fingerprint(req model.Request) [sha256.Size]byte {
	req.MaxTokens = 0
	return sha256.Sum256(req.Body(true))
}

// remedies are the cures that a request has had; each is tried once.
type remedies struct{ thinking, restored, retold, media bool }

// remedy finds what can be left out of a request that was refused because of it.
func (t *thread) remedy(err error, had *remedies) (cure func() error, ok bool) {
	var e *model.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return nil, false
	}
	words := strings.ToLower(e.Message)
	says := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(words, w) })
	}
	omit := t.history.cut
	once := func(tried *bool, change func()) (func() error, bool) {
		if *tried {
			return nil, false
		}
		*tried = true
		return func() error { change(); return t.leaveOut(omit) }, true
	}
	everything := t.journal.lastSeq()
	latest := says("thinking") && says("cannot be modified", "must remain")
	switch {
	case latest && !had.restored && t.history.dropsLatest():
		had.restored = true
		return func() error { t.history.keepLatest = true; return nil }, true
	case latest && !had.retold:
		return once(&had.retold, func() { omit.Retold = append(slices.Clip(omit.Retold), t.history.latestSeq()) })
	case says("thinking") && says("signature", "`data`", "invalid", "cannot be modified"):
		return once(&had.thinking, func() { omit.Thinking = everything })
	case says("image", "document", "pdf") && !says("too long") && t.history.hasMedia():
		return once(&had.media, func() { omit.Media = everything })
	}
	return nil, false
}

// leaveOut stops sending something, now and whenever the session is opened.
func (t *thread) leaveOut(o omission) error {
	if _, err := t.journal.write(amendment(field{"omit", encode(o)})); err != nil {
		return err
	}
	t.history.leaveOut(o)
	t.cacheStarts = true
	t.say(event.Event{Kind: event.System, Text: "the provider refused a part of the conversation (thinking, images or documents); it is left out from now on, and the cache starts over"})
	return nil
}

// fit builds the request and, where its body is too large, leaves out images and
// documents, oldest first.
func (t *thread) fit() (model.Request, error) {
	req, most := t.build(t.maxTokens), t.run.h.config.MaxBody
	if weight(req) <= most {
		return req, nil
	}
	cut := t.history.mediaUpTo(weight(req) - most*3/4)
	if cut > t.history.cut.Media {
		omit := t.history.cut
		omit.Media = cut
		if err := t.leaveOut(omit); err != nil {
			return req, err
		}
		req = t.build(t.maxTokens)
	}
	if n := weight(req); n > most {
		return req, fmt.Errorf("the conversation has %d bytes, and a request may have %d: it is not sent; hand over to a new session", n, most)
	}
	return req, nil
}
