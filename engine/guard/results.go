package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/workbench"
)

// What is done with results.

// after is a Guard that only looks at replies.
type after struct {
	name   string
	change func(ctx context.Context, c Call, r Reply) (Reply, error)
}

func (g after) Name() string { return g.name }

func (g after) Before(context.Context, Call) (Decision, error) { return Decision{}, nil }

func (g after) After(ctx context.Context, c Call, r Reply) (Reply, error) { return g.change(ctx, c, r) }

// After makes a function a Guard that may rewrite replies.
func After(name string, change func(ctx context.Context, c Call, r Reply) (Reply, error)) Guard {
	return after{name, change}
}

// Index keeps the workbench's index in step with what is written there.
func Index(bench *workbench.Bench) Guard {
	return After("index", func(_ context.Context, c Call, r Reply) (Reply, error) {
		if c.Tool != "Write" && c.Tool != "Edit" && c.Tool != "NotebookEdit" {
			return r, nil
		}
		var in struct {
			Path     string `json:"file_path"`
			Notebook string `json:"notebook_path"`
		}
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return r, err
		}
		if path := in.Path + in.Notebook; path != "" && bench.Contains(path) {
			return r, bench.Refresh()
		}
		return r, nil
	})
}

// The length from which a result is moved to a file, and of the beginning that stays in
// its place, in characters.
const (
	defaultSpill = 4000
	spillHead    = 400
)

// Spill moves large texts of results to files and leaves a pointer and the
// beginning. Only texts are moved, also those that are fields of a structure;
// images and lists stay. nil when nothing is to be spilled.
func Spill(bench *workbench.Bench, o Options) Guard {
	threshold := o.SpillThreshold
	if threshold == 0 {
		threshold = defaultSpill
	}
	if threshold < 0 || bench == nil && o.SpillDir == "" {
		return nil
	}
	s := spiller{bench: bench, o: o, threshold: threshold}
	return After("spill", s.reply)
}

type spiller struct {
	bench     *workbench.Bench
	o         Options
	threshold int
}

func (s spiller) reply(_ context.Context, c Call, r Reply) (Reply, error) {
	if !spills(c.Tool) || s.o.SpillMainOnly && !c.MainThread() || s.readsBack(c) {
		return r, nil
	}
	value, err := s.value(r.Value)
	if err != nil {
		return r, err
	}
	r.Value = value
	return r, nil
}

// spills are the tools whose results may be large; Read pages by itself.
func spills(tool string) bool {
	return slices.Contains([]string{"Bash", "BashOutput", "Grep", "Glob", "WebFetch", "WebSearch"}, tool) ||
		strings.HasPrefix(tool, "mcp__") && !strings.HasPrefix(tool, "mcp__human__")
}

// readsBack: the call looks at a spill file, which would only come back as a
// pointer to itself.
func (s spiller) readsBack(c Call) bool {
	dir := s.o.SpillDir
	if s.bench != nil {
		if strings.Contains(string(c.Input), s.bench.Shown(s.bench.Spills())+"/") {
			return true
		}
		dir = s.bench.Spills()
	}
	return strings.Contains(string(c.Input), dir+"/")
}

func (s spiller) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, field := range v {
			text, ok := field.(string)
			if !ok {
				out[key] = field
				continue
			}
			short, err := s.text(text)
			if err != nil {
				return nil, err
			}
			out[key] = short
		}
		return out, nil
	}
	return v, nil
}

func (s spiller) text(text string) (string, error) {
	n := utf8.RuneCountInString(text)
	if n < s.threshold {
		return text, nil
	}
	path, err := s.write(text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(say(s.o.Lang, spilled), n, path, spillHead) + "\n" + firstChars(text, spillHead), nil
}

func (s spiller) write(text string) (string, error) {
	if s.bench != nil {
		return s.bench.WriteSpill(text)
	}
	return workbench.WriteSpill(s.o.SpillDir, text)
}

// firstChars cuts on a character's boundary.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
