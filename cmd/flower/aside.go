package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/workbench"
	"github.com/flowerlua/flower/store"
)

// Questions from the side: an agent of its own reads what the run told last and
// the workspace, and answers beside the run. Nothing of it enters the run.

// What an aside sees of the run.
const (
	asideEvents = 60
	asideText   = 200 // characters of each
)

// maxAsides bounds the questions that wait.
const maxAsides = 8

// recent keeps the newest events of a run.
type recent struct {
	mu   sync.Mutex
	list []event.Event
}

func (r *recent) Emit(e event.Event) {
	if e.Kind == event.Thinking || e.Kind == event.Prompt || e.Text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, e)
	r.list = r.list[max(0, len(r.list)-asideEvents):]
}

// digest is a line for each event, the oldest first.
func (r *recent) digest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.list {
		who := e.Step
		if e.Subagent != "" {
			who += "/" + e.Subagent
		}
		text := strings.Join(strings.Fields(clean(e.Tool+" "+e.Text)), " ")
		fmt.Fprintf(&b, "%s %s %s: %s\n", e.Time.Format("15:04:05"), who, e.Kind, event.Cut(text, asideText))
	}
	return b.String()
}

// asidePrompt asks a question: the digest, the question.
var asidePrompt = map[string]string{
	"en": "The newest events of the run, oldest first:\n\n%s\nThe question:\n\n%s",
	"zh": "这次运行最近的事件，从旧到新：\n\n%s\n问题：\n\n%s",
}

// question is asked from the side; tell takes the answer, or why there is none.
type question struct {
	text string
	tell func(ok bool, text string)
}

// aside answers one question after the other.
type aside struct {
	c         *cli
	b         *bed
	cancel    context.CancelFunc
	questions chan question
	wait      sync.WaitGroup

	session string // of the last answer: a question may lean on the one before
}

func (c *cli) newAside(b *bed) *aside {
	ctx, cancel := context.WithCancel(context.Background())
	s := &aside{c: c, b: b, cancel: cancel, questions: make(chan question, maxAsides)}
	s.wait.Go(func() { s.work(ctx) })
	return s
}

// ask takes a question and gives the receipt. tell is called later, by another
// goroutine, unless the run ends before.
func (s *aside) ask(text string, tell func(ok bool, text string)) (receipt string, err error) {
	if text == "" {
		return "", errors.New("a question follows the question mark: ? what is it doing")
	}
	select {
	case s.questions <- question{text, tell}:
		return "asked from the side; the run goes on", nil
	default:
		return "", errors.New("too many questions wait for an answer; this one is dropped")
	}
}

// close ends the answer in the making and waits until it has.
func (s *aside) close() {
	s.cancel()
	s.wait.Wait()
}

func (s *aside) work(ctx context.Context) {
	var rt *engine.Runtime
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-s.questions:
			if rt == nil {
				made, done, err := s.open()
				if err != nil {
					q.tell(false, "nobody can be asked: "+err.Error())
					continue
				}
				defer done()
				rt = made
			}
			s.answer(ctx, rt, q)
		}
	}
}

// open makes a runtime of its own, with a store of its own.
func (s *aside) open() (rt *engine.Runtime, done func(), err error) {
	src, err := s.b.src.aside()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(s.b.rt.RunDir(), "aside")
	db, err := store.Open(filepath.Join(dir, "sessions"), nil)
	if err != nil {
		return nil, nil, err
	}
	bench, err := s.workbench()
	if err == nil {
		rt, err = engine.New(engine.Config{
			Workspace: s.b.rt.Workspace(), RunDir: dir, Store: db, Harness: s.c.newHarness(src, dir),
			Model: src.name, Endpoint: src.endpoint, Lang: s.b.rt.Lang(), Workbench: bench,
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return rt, func() {
		rt.Close()
		if err := db.Close(); err != nil {
			s.b.sinks.screen.say("! " + err.Error())
		}
	}, nil
}

// workbench is the one of the run: its own, or the one that lies at the workspace.
func (s *aside) workbench() (*workbench.Bench, error) {
	if b := s.b.rt.Workbench(); b != nil {
		return b, nil
	}
	for _, outside := range []bool{false, true} {
		home := workbench.Home(s.b.rt.Workspace(), outside)
		if _, err := os.Stat(home); err == nil {
			return workbench.New(home, s.b.rt.Workspace(), &workbench.Options{Lang: s.b.rt.Lang()})
		}
	}
	return nil, nil
}

func (s *aside) answer(ctx context.Context, rt *engine.Runtime, q question) {
	spec := engine.Oracle(engine.RoleOptions{Lang: rt.Lang()})
	if !rt.Harness().Prices(ctx, s.b.src.name) {
		spec.MaxBudgetUSD = 0 // it could not be held; the turns are bounded still
	}
	prompt := fmt.Sprintf(asidePrompt[rt.Lang()], s.b.sinks.recent.digest(), q.text)
	r, err := rt.Run(ctx, spec, prompt, engine.RunOptions{Resume: s.session})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		q.tell(false, "no answer from the side: "+err.Error())
	case !r.OK:
		q.tell(false, "no answer from the side: "+r.Error)
	default:
		s.session = r.SessionID
		q.tell(true, r.LastMessage)
	}
}

// sayAside shows an answer from the side, or why there is none.
func (s *screen) sayAside(ok bool, text string) {
	if !ok {
		s.say("! " + text)
		return
	}
	s.sayBehind("  aside: ", text)
}
