package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/internal/spell"
)

// Mistake is one field of a step that cannot work.
type Mistake struct {
	Field string
	Text  string
}

// Error is field: text.
func (m Mistake) Error() string { return m.Field + ": " + m.Text }

// Check reports everything in a workflow that cannot work, at once; nil when it
// can start. Texts name step and field.
func (w *Workflow) Check() error {
	var errs []error
	if len(w.Steps) == 0 {
		errs = append(errs, fmt.Errorf("workflow %s has no steps", w.name()))
	}
	var earlier []string
	for i, s := range w.Steps {
		for _, m := range s.Mistakes(earlier) {
			errs = append(errs, fmt.Errorf("%s: %w", s.title(i), m))
		}
		earlier = append(earlier, s.Name)
	}
	return errors.Join(errs...)
}

func (w *Workflow) name() string {
	if w.Name == "" {
		return "workflow"
	}
	return w.Name
}

// title names a step in messages, also one without a name.
func (s Step) title(index int) string {
	if s.Name == "" {
		return fmt.Sprintf("step %d", index+1)
	}
	return fmt.Sprintf("step %d (%s)", index+1, s.Name)
}

// Mistakes are all that cannot work in one step; earlier are the names of the
// steps before it.
func (s Step) Mistakes(earlier []string) []Mistake {
	var all []Mistake
	bad := func(field, format string, args ...any) {
		all = append(all, Mistake{field, fmt.Sprintf(format, args...)})
	}
	switch {
	case strings.TrimSpace(s.Name) == "":
		bad("name", "is missing")
	case slices.Contains(ownedKeys, s.Name):
		bad("name", "%q is a key of the context that the runner owns; take another", s.Name)
	case strings.ContainsAny(s.Name, "\n\r\x00"):
		bad("name", "%q holds a line end", s.Name)
	}
	if err := s.Spec.Check(); err != nil {
		bad("spec", "%v", err)
	}
	if s.Prompt == nil {
		bad("prompt", "is missing")
	}
	if s.Retries < 0 {
		bad("retries", "is %d; it must not be negative", s.Retries)
	}
	if !slices.Contains([]OnFail{"", Stop, Skip, Continue}, s.OnFail) {
		bad("on_fail", "is %q; it is one of stop, skip, continue%s", s.OnFail, spell.Hint(string(s.OnFail), []string{"stop", "skip", "continue"}))
	}
	if s.ResumeFrom != "" && !slices.Contains(earlier, s.ResumeFrom) {
		bad("resume_from", "no earlier step is called %q%s", s.ResumeFrom, spell.Hint(s.ResumeFrom, earlier))
	}
	return all
}
