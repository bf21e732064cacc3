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
	index := 0
	for _, s := range w.Steps {
		for _, m := range s.groupMistakes() {
			errs = append(errs, fmt.Errorf("%s: %w", s.title(index), m))
		}
		group := s.group()
		for _, member := range group {
			for _, m := range member.Mistakes(earlier) {
				errs = append(errs, fmt.Errorf("%s: %w", member.title(index), m))
			}
			index++
		}
		for _, member := range group {
			earlier = append(earlier, member.Name)
		}
	}
	return errors.Join(errs...)
}

// flat are all steps, those of parallel groups in their order.
func (w *Workflow) flat() []Step {
	var all []Step
	for _, s := range w.Steps {
		all = append(all, s.group()...)
	}
	return all
}

// group is the steps that a step stands for: itself, or those side by side.
func (s Step) group() []Step {
	if s.Parallel == nil {
		return []Step{s}
	}
	return s.Parallel
}

// groupMistakes are those of a step that stands for others.
func (s Step) groupMistakes() []Mistake {
	if s.Parallel == nil {
		return nil
	}
	var all []Mistake
	if len(s.Parallel) == 0 {
		all = append(all, Mistake{"parallel", "is empty"})
	}
	if s.Name != "" || s.Prompt != nil || s.Spec.Name != "" {
		all = append(all, Mistake{"parallel", "stands alone: the steps in it have names, specs and prompts"})
	}
	seen := map[string]bool{}
	for _, member := range s.Parallel {
		if member.Parallel != nil {
			all = append(all, Mistake{"parallel", "holds another parallel group"})
		}
		if seen[member.Name] {
			all = append(all, Mistake{"parallel", fmt.Sprintf("two steps side by side are called %q", member.Name)})
		}
		seen[member.Name] = true
	}
	return all
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

// maxRetries bounds the attempts of a step.
const maxRetries = 1000

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
	if strings.Contains(s.Name, "#") {
		bad("name", "%q holds a #, which marks further attempts in the accounts; take another sign", s.Name)
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
	if s.Retries > maxRetries {
		bad("retries", "is %d; at most %d make sense: each is paid for", s.Retries, maxRetries)
	}
	if !slices.Contains([]OnFail{"", Stop, Skip, Continue}, s.OnFail) {
		bad("on_fail", "is %q; it is one of stop, skip, continue%s", s.OnFail, spell.Hint(string(s.OnFail), []string{"stop", "skip", "continue"}))
	}
	if s.ResumeFrom != "" && !slices.Contains(earlier, s.ResumeFrom) {
		bad("resume_from", "no earlier step is called %q%s", s.ResumeFrom, spell.Hint(s.ResumeFrom, earlier))
	}
	return all
}
