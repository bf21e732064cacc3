package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/internal/atomicfile"
)

// HandoffPolicy says when a session whose context fills up is replaced, by way of
// a document that the old one writes and the new one reads. The zero
// value is the default.
type HandoffPolicy struct {
	// Off lets a full context end the step.
	Off bool
	// Window is the context in tokens, more than 10,000; 0 asks the harness, then
	// guesses by the model's name.
	Window int64
	// Headroom is how far below the window the line is; 0 means 50,000. The line is
	// never below 10,000.
	Headroom int64
	// MaxGenerations is how many sessions one Run may burn; 0 means 8.
	MaxGenerations int
	// Pause is called with the document's path before the successor reads it, so
	// that a person may edit it; nil goes on at once. An error ends the step.
	Pause func(ctx context.Context, path string) error
}

// Check reports values that make no sense.
func (p HandoffPolicy) Check() error {
	if p.Window < 0 || p.Headroom < 0 || p.MaxGenerations < 0 {
		return fmt.Errorf("handoff: window %d, headroom %d and generations %d must not be negative", p.Window, p.Headroom, p.MaxGenerations)
	}
	if !p.Off && p.Window > 0 && p.Window <= lowestLine {
		return fmt.Errorf("handoff: a window of %d tokens is too small: sessions hand over at %d or more, which must lie in it; name %d or more, 0 to ask the harness, or turn handoff off",
			p.Window, lowestLine, lowestLine+1)
	}
	return nil
}

// What holds where nobody says otherwise: windows and lines in tokens, sessions one Run
// may burn, and handoffs in a row that the model did not write.
const (
	bigWindow       = 1_000_000
	smallWindow     = 200_000
	defaultHeadroom = 50_000
	lowestLine      = 10_000
	lowestWarning   = 1_000
	warningRoom     = 20_000
	generations     = 8
	maxDegradedRow  = 2
)

// handoffLine is where one Run hands over.
type handoffLine struct {
	on          bool
	compacted   bool // the harness keeps the context below the line by itself
	window      int64
	at          int64 // the line
	warnAt      int64
	generations int
}

// watched: the run stops at the line. Where it does not, it still hands over when
// the provider says that the context is full.
func (l handoffLine) watched() bool { return l.on && !l.compacted }

func (rt *Runtime) handoffLine(ctx context.Context, agent harness.Agent) handoffLine {
	p := rt.config.Handoff
	if p == nil {
		p = &HandoffPolicy{}
	}
	l := handoffLine{on: !p.Off, window: p.Window, generations: p.MaxGenerations,
		compacted: agent.Compact.Mode == harness.CompactAuto}
	if l.window == 0 {
		l.window = rt.window(ctx, agent.Model)
	}
	headroom := p.Headroom
	if headroom == 0 {
		headroom = defaultHeadroom
	}
	if l.generations == 0 {
		l.generations = generations
	}
	l.at = max(lowestLine, l.window-headroom)
	l.warnAt = max(lowestWarning, l.at-warningRoom)
	return l
}

var millionWord = regexp.MustCompile(`(?i)(^|[^a-z0-9])1m($|[^a-z0-9])`)

// window is a model's context: what the harness knows, else by the name.
func (rt *Runtime) window(ctx context.Context, model string) int64 {
	if w, ok := rt.config.Harness.(harness.Windower); ok {
		if n := w.Window(ctx, model); n > 0 {
			return n
		}
	}
	if !millionWord.MatchString(model) && strings.Contains(strings.ToLower(model), "haiku") {
		return smallWindow
	}
	return bigWindow
}

// watch notes how full the main thread's context is and tells once a generation
// that the line is near. It is called for every event, on the goroutine that
// emits it.
func (a *activeRun) watch(e event.Event) {
	if !a.line.watched() || e.Subagent != "" || e.Context < a.line.warnAt || a.warned.Swap(true) {
		return
	}
	a.emitPlain(event.Event{Kind: event.Handoff, Context: e.Context,
		Text:    fmt.Sprintf("the context holds %d tokens; at %d the session hands over", e.Context, a.line.at),
		Payload: map[string]any{"phase": "near", "at": a.line.at, "window": a.line.window}})
}

// handOver replaces the session by a new one that reads what the old one wrote.
// why is empty when the old session can still write, else it says why not.
func (a *activeRun) handOver(ctx context.Context, why string) (done bool) {
	r := &a.result
	a.result.Attempts--
	r.Errors = append(r.Errors, MarkContextFull)
	if len(r.Retired) >= a.line.generations {
		return a.end(fmt.Sprintf("%d sessions in a row filled their context: the window of %d tokens is probably smaller than what the role needs to begin", a.line.generations, a.line.window))
	}
	a.emit(event.Event{Kind: event.Handoff, Text: "the session hands over", Payload: map[string]any{"phase": "writing"}})
	doc, why := a.writeHandoff(ctx, why)
	if ctx.Err() != nil {
		return a.fail(causeText(ctx))
	}
	if doc.Degraded() {
		if a.rt.degraded.Add(1) >= maxDegradedRow {
			return a.end("two handoffs in a row could not be written: " + why)
		}
	} else {
		a.rt.degraded.Store(0)
	}
	doc, path, err := a.keepHandoff(ctx, doc)
	if err != nil {
		return a.end("the handoff could not be kept: " + err.Error())
	}
	a.emit(event.Event{Kind: event.Handoff, Text: "a new session takes over", Payload: map[string]any{
		"phase": "done", "degraded": doc.Degraded(), "path": path, "sections": sections(doc)}})
	r.Retired = append(r.Retired, r.SessionID)
	a.next, a.own = harness.Session{}, false
	a.prompt = doc.PromptBlock(a.rt.lang())
	a.warned.Store(false)
	return false
}

// writeHandoff lets the full session write the document in one more turn: without
// a budget, without events, exempt from the line. failed is why it did not.
func (a *activeRun) writeHandoff(ctx context.Context, why string) (doc document.Handoff, failed string) {
	degraded := func(why string) (document.Handoff, string) {
		return document.DegradedHandoff(a.label, a.task, why, a.rt.lang()), why
	}
	if why != "" {
		return degraded(why)
	}
	t := a.turn()
	t.Session = harness.Session{Resume: a.result.SessionID}
	t.Prompt = handoffPrompt(a.rt.lang(), a.result.Context, a.line.window)
	t.Limits = harness.Limits{}
	t.Sink, t.OnSession, t.Interrupt = event.Discard, nil, nil
	out, err := a.rt.config.Harness.Run(ctx, t)
	a.bookCost(out)
	if err != nil {
		return degraded(err.Error())
	}
	text := out.LastMessage
	if !document.KindHandoff.Headed(text) {
		text = out.Text
	}
	doc = document.ParseHandoff(text, a.label)
	if !doc.Complete() {
		return degraded("the document was incomplete")
	}
	return doc, ""
}

// sections are the names of those that a document has something in.
func sections(doc document.Handoff) []string {
	names := []string{}
	for _, s := range []struct {
		name document.Field
		text string
	}{
		{document.FieldDoing, doc.Doing}, {document.FieldDecided, doc.Decided}, {document.FieldDeadEnds, doc.DeadEnds},
		{document.FieldNext, doc.Next}, {document.FieldScene, doc.Scene},
	} {
		if s.text != "" {
			names = append(names, string(s.name))
		}
	}
	return names
}

// keepHandoff writes the document, keeps an older one, and reads it again, since
// a person may have edited it.
func (a *activeRun) keepHandoff(ctx context.Context, doc document.Handoff) (document.Handoff, string, error) {
	bench := a.bench
	if bench == nil {
		return doc, "", nil
	}
	path := filepath.Join(bench.Notes(), document.FileName(document.KindHandoff, a.rt.lang(), a.label))
	if err := a.archiveHandoff(path); err != nil {
		return doc, "", err
	}
	if err := doc.Write(path, a.rt.lang()); err != nil {
		return doc, "", err
	}
	if p := a.rt.config.Handoff; p != nil && p.Pause != nil {
		if err := safely(func() error { return p.Pause(ctx, path) }); err != nil {
			return doc, "", err
		}
	}
	edited, err := document.LoadHandoff(path, a.label)
	if err != nil {
		return doc, "", err
	}
	if !edited.Complete() {
		return doc, path, nil // what is left of it would not do
	}
	return edited, path, nil
}

func (a *activeRun) archiveHandoff(path string) error {
	dir := filepath.Join(filepath.Dir(path), "archive", "handoff")
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	name = strings.TrimPrefix(strings.TrimPrefix(name, "handoff-"), "交接-")
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	stamp := a.rt.now().Format("20060102-150405")
	for n := 1; ; n++ {
		to := filepath.Join(dir, fmt.Sprintf("%s-%s.md", name, stamp))
		if n > 1 {
			to = filepath.Join(dir, fmt.Sprintf("%s-%s-%d.md", name, stamp, n))
		}
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Move(path, to)
		}
	}
}
