package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func newSet(o Options) *Set {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Workspace = filepath.Clean(o.Workspace)
	s := &Set{o: o, lim: o.Limits.withDefaults(), dir: o.Workspace, mark: newMark(), receipts: map[string]receipt{}, checkAddr: checkPublic}
	s.done = make(chan struct{})
	s.end = sync.OnceFunc(func() { close(s.done) })
	return s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		PageLines:   cmp.Or(l.PageLines, 2000),
		PageBytes:   cmp.Or(l.PageBytes, 50<<10),
		LineChars:   cmp.Or(l.LineChars, 2000),
		EditBytes:   cmp.Or(l.EditBytes, 10<<20),
		ImageSide:   cmp.Or(l.ImageSide, 2000),
		ImageBytes:  cmp.Or(l.ImageBytes, 5<<20),
		PDFBytes:    cmp.Or(l.PDFBytes, 20<<20),
		PDFPages:    cmp.Or(l.PDFPages, 10),
		OutputChars: cmp.Or(l.OutputChars, 30_000),
		OutputBytes: cmp.Or(l.OutputBytes, 64<<20),
		Timeout:     cmp.Or(l.Timeout, 2*time.Minute),
		MaxTimeout:  cmp.Or(l.MaxTimeout, 10*time.Minute),
		Grace:       cmp.Or(l.Grace, 2*time.Second),
		Jobs:        cmp.Or(l.Jobs, 32),
		GlobFiles:   cmp.Or(l.GlobFiles, 100),
		GrepLines:   cmp.Or(l.GrepLines, 250),
		GrepTimeout: cmp.Or(l.GrepTimeout, 20*time.Second),
		WebBytes:    cmp.Or(l.WebBytes, 5<<20),
		WebTimeout:  cmp.Or(l.WebTimeout, 30*time.Second),
		WebCache:    cmp.Or(l.WebCache, 15*time.Minute),
	}
}

// builtin is a tool of a Set. Its description is describe/<name>.md, with the
// limits that hold filled in.
type builtin struct {
	set      *Set
	name     string
	schema   string
	readOnly bool
	run      func(ctx context.Context, c Call) Result
}

func (b builtin) Definition() Definition {
	return Definition{
		Name:        b.name,
		Description: b.set.describe(b.name),
		Schema:      json.RawMessage(b.schema),
		ReadOnly:    b.readOnly,
	}
}

func (b builtin) Run(ctx context.Context, c Call) Result {
	b.set.mu.Lock()
	closed := b.set.closed
	b.set.mu.Unlock()
	if closed {
		return ErrorResult("the session has ended; no tool can be called any more")
	}
	if err := ctx.Err(); err != nil {
		return ErrorResult("the call was cancelled before it began")
	}
	return b.run(ctx, c)
}

func (s *Set) tools() []Tool {
	return []Tool{
		builtin{s, "Read", readSchema, true, s.read},
		builtin{s, "Write", writeSchema, false, s.write},
		builtin{s, "Edit", editSchema, false, s.edit},
		builtin{s, "Bash", bashSchema, false, s.bash},
		builtin{s, "Glob", globSchema, true, s.glob},
		builtin{s, "Grep", grepSchema, true, s.grep},
		builtin{s, "BashOutput", bashOutputSchema, true, s.bashOutput},
		builtin{s, "KillBash", killBashSchema, false, s.killBash},
		builtin{s, "NotebookEdit", notebookSchema, false, s.notebookEdit},
		builtin{s, "TodoWrite", todoSchema, false, s.todoWrite},
		builtin{s, "WebFetch", webFetchSchema, true, s.webFetch},
	}
}

// record is what a Result's Structured holds; every built-in tool uses the same
// form and leaves out what does not apply.
type record struct {
	Receipts []receipt `json:"receipts,omitempty"` // files whose content the model has seen

	Cwd        string `json:"cwd,omitempty"`         // the working directory that carries over
	ExitCode   *int   `json:"exit_code,omitempty"`   // of a command that exited
	Signal     string `json:"signal,omitempty"`      // the signal that ended the shell
	TimedOut   bool   `json:"timed_out,omitempty"`   // a command or a search
	OutputFile string `json:"output_file,omitempty"` // the whole of an output that was cut
	Job        string `json:"job,omitempty"`         // a background command's id

	Todos []Todo `json:"todos,omitempty"`
}

// with returns r with the record as its structured part.
func (r Result) with(rec record) Result {
	b, err := json.Marshal(rec)
	if err == nil && string(b) != "{}" {
		r.Structured = b
	}
	return r
}

func (s *Set) restore(structured json.RawMessage) {
	var rec record
	if len(structured) == 0 || json.Unmarshal(structured, &rec) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rec.Receipts {
		s.keepReceipt(r)
	}
	if rec.Cwd != "" && !s.o.Subagent && inside(rec.Cwd, s.homes()...) {
		s.dir = rec.Cwd
	}
	s.lastJob = max(s.lastJob, jobNumber(rec.Job))
}

func (s *Set) workingDir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// shown is how a path is written in results: relative to the working directory
// where it lies below it, since that is shorter and can be given back as it is.
func (s *Set) shown(path string) string {
	rel, err := filepath.Rel(s.workingDir(), path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}
