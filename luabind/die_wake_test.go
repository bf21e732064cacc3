package luabind_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/transcript"
)

// TestStarter_one_more_thing_dies_at_every_write does the same with a wake that
// adds something: it stands in the brief once, the goal was derived again, and the
// session that goes on was told once.
func TestStarter_one_more_thing_dies_at_every_write(t *testing.T) {
	watchFiles(t)
	// The goal is set from all that the session was told, not from its last words.
	model := loadModel(t, strings.Replace(easyModel, `(turn.prompt:match("also support X") or "the page")`,
		`(require("flower.json").encode(turn.messages):match("also support X") or "the page")`, 1))
	more := map[string]any{"ask": "also support X"}
	prepared := func() *life {
		l := newLife(t, model)
		if ending, _, err := l.run(0, before, map[string]any{"ask": "a page"}); err != nil || !ending.OK {
			t.Errorf("%s, %v", ending.Reason, err)
		}
		return l
	}
	whole := prepared()
	_, p, err := whole.run(0, before, more)
	if err != nil {
		t.Fatal(err)
	}
	want := whole.woken()
	t.Logf("%d writes: %s\n%s", len(p.kinds), strings.Join(p.kinds, ", "), want)
	dieAtEach(t, p.kinds, func(n int, how death) error {
		l := prepared()
		_, _, _ = l.run(n, how, more) // it dies
		if ending, _, err := l.run(0, before, more); err != nil || !ending.OK {
			return fmt.Errorf("the next process ended at %q: %s, %v", ending.FailedAt, ending.Reason, err)
		}
		if diff := cmp.Diff(want, l.woken()); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// added is the heading of an addition, halfAdded one that a power cut left.
var (
	added     = regexp.MustCompile(`(?m)^(### Added by the person) \([-\d]+ [:\d]+\)$`)
	halfAdded = regexp.MustCompile(`(?m)^### Added by the person \([-\d]*\n`)
)

// woken is what a wake left, and how often the session was told of it.
func (l *life) woken() string {
	var b strings.Builder
	for _, name := range []string{"brief.md", "goal.md", "asks.json"} {
		text := added.ReplaceAllString(l.read(filepath.Join(".flower", "notes", name)), "$1")
		fmt.Fprintf(&b, "%s: %s\n", name, halfAdded.ReplaceAllString(text, ""))
	}
	key := transcript.Key{Project: strings.TrimSpace(l.read("runs/id")), Session: l.session("work")}
	told := 0
	for e, err := range sharedStore(l.t).Load(context.Background(), key, 0) {
		if err != nil {
			l.t.Error(err)
		}
		if e.Type == "user" && strings.Contains(string(e.Raw), "also support X") {
			told++
		}
	}
	fmt.Fprintf(&b, "told: %d\n", told)
	return b.String()
}

// TestStarter_new_dies_at_every_write begins anew in a used directory: what was there
// is in the archive, and nothing of it is continued.
func TestStarter_new_dies_at_every_write(t *testing.T) {
	watchFiles(t)
	model := loadModel(t, easyModel)
	anew := map[string]any{"ask": "another page", "new": true}
	prepared := func() (l *life, session string) {
		l = newLife(t, model)
		if ending, _, err := l.run(0, before, map[string]any{"ask": "a page"}); err != nil || !ending.OK {
			t.Errorf("%s, %v", ending.Reason, err)
		}
		return l, l.session("work")
	}
	whole, session := prepared()
	_, p, err := whole.run(0, before, anew)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.archived(session); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d writes: %s", len(p.kinds), strings.Join(p.kinds, ", "))
	dieAtEach(t, p.kinds, func(n int, how death) error {
		l, session := prepared()
		_, _, _ = l.run(n, how, anew) // it dies
		ending, _, err := l.run(0, before, anew)
		if err != nil || !ending.OK {
			return fmt.Errorf("the next process ended at %q: %s, %v", ending.FailedAt, ending.Reason, err)
		}
		return l.archived(session)
	})
}

// session is what the lineage remembers of a step.
func (l *life) session(step string) string {
	return engine.OpenLineage(filepath.Join(l.dir, "runs"), l.dir).Steps()[step]
}

// archived checks that documents and lineage of the first run are in the archive,
// each once, and that its session is not continued.
func (l *life) archived(session string) error {
	if now := l.session("work"); now == session || now == "" {
		return fmt.Errorf("the session is %q, and was %q", now, session)
	}
	found := map[string]int{}
	files, err := filepath.Glob(filepath.Join(l.dir, ".flower", "notes", "archive", "*", "*"))
	for _, path := range files {
		raw, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr)
		switch name := filepath.Base(path); {
		case name == "lineage.json" && strings.Contains(string(raw), session),
			name == "asks.json" && strings.Contains(string(raw), `"a page"`):
			found[name]++
		case name == "brief.md", name == "goal.md":
			found[name] = 1 // those of the process that died may lie beside it
		}
	}
	want := map[string]int{"lineage.json": 1, "asks.json": 1, "brief.md": 1, "goal.md": 1}
	if diff := cmp.Diff(want, found); diff != "" {
		return errors.Join(err, errors.New("the archive: "+diff))
	}
	return err
}
