package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowerlua/flower/internal/atomicfile"
)

// Lineage remembers, across processes, which session each step used last and
// how often this directory was run. Every change is merged into the file under a
// lock, so that two processes keep each other's steps.
type Lineage struct {
	path      string
	workspace string
	runDir    string
	now       func() time.Time
	memory    *memory // in the file's place; nil: the file
}

// memory holds what a lineage file would: a lineage that ends with its process.
type memory struct {
	id  string // of the Runtime
	mu  sync.Mutex
	raw []byte
}

// lineageFile is lineage.json. RunDir lets a reader tell a workspace that was
// moved or copied with its run directory from a run directory that is used for
// another workspace.
type lineageFile struct {
	Workspace string `json:"workspace"`
	RunDir    string `json:"run_dir"`
	Woke      int    `json:"woke"`
	// Began is the run that began the lineage: one that was begun anew has another.
	Began string            `json:"began,omitempty"`
	Steps map[string]string `json:"steps"`
	// Of says which workflow a step's session is of: steps of the same name in
	// other workflows do not continue it.
	Of map[string]string `json:"of,omitempty"`
	// Others are sessions whose place in Steps another workflow has taken, that
	// workflow last which lost one last.
	Others []otherSteps `json:"others,omitempty"`
}

type otherSteps struct {
	Workflow string            `json:"workflow"`
	Steps    map[string]string `json:"steps"`
}

// maxOthers is how many workflows' sessions are kept beside the plain ones: each
// list of arguments makes a workflow of its own.
const maxOthers = 256

// of is the session that a step of a workflow used last; "" where there is none.
// One of which nobody said whose it is belongs to everybody.
func (f *lineageFile) of(workflow, step string) string {
	session, owner := f.Steps[step], f.Of[step]
	if owner == workflow {
		return session
	}
	for _, o := range f.Others {
		if o.Workflow == workflow && o.Steps[step] != "" {
			return o.Steps[step]
		}
	}
	if owner == "" {
		return session
	}
	return ""
}

// put notes a step's session, and keeps the one whose place it takes.
func (f *lineageFile) put(workflow, step, session string) {
	if owner := f.Of[step]; owner != "" && owner != workflow {
		f.putAside(owner, step, f.Steps[step])
	}
	f.Steps[step], f.Of[step] = session, workflow
	for i, o := range f.Others {
		if o.Workflow == workflow {
			delete(o.Steps, step)
			if len(o.Steps) == 0 {
				f.Others = slices.Delete(f.Others, i, i+1)
			}
			return
		}
	}
}

func (f *lineageFile) putAside(workflow, step, session string) {
	o := otherSteps{Workflow: workflow, Steps: map[string]string{}}
	if i := slices.IndexFunc(f.Others, func(o otherSteps) bool { return o.Workflow == workflow }); i >= 0 {
		o = f.Others[i]
		f.Others = slices.Delete(f.Others, i, i+1)
	}
	o.Steps[step] = session
	f.Others = append(f.Others, o)
	if n := len(f.Others); n > maxOthers {
		f.Others = slices.Delete(f.Others, 0, n-maxOthers)
	}
}

// OpenLineage names the lineage of a run directory and a workspace, both absolute.
// It reads nothing yet, and makes nothing.
func OpenLineage(runDir, workspace string) *Lineage {
	return &Lineage{path: filepath.Join(runDir, "lineage.json"), workspace: workspace, runDir: runDir, now: time.Now}
}

// Steps are the remembered sessions by step. A file that is missing, unreadable,
// broken or another workspace's counts as empty.
func (l *Lineage) Steps() map[string]string {
	file, _ := l.load()
	return file.Steps
}

// stepsOf are the remembered sessions of one workflow, and those of which nobody
// said whose they are.
func (l *Lineage) stepsOf(workflow string) (steps map[string]string, broken bool) {
	file, broken := l.load()
	steps = map[string]string{}
	for step := range file.Steps {
		if session := file.of(workflow, step); session != "" {
			steps[step] = session
		}
	}
	return steps, broken
}

// rememberOf is Remember for a step of a workflow.
func (l *Lineage) rememberOf(workflow, step, session string) error {
	return l.change(func(f *lineageFile) { f.put(workflow, step, session) })
}

// Woke is how many runs this directory has seen.
func (l *Lineage) Woke() int {
	file, _ := l.load()
	return file.Woke
}

// Remember notes the session of a step; it is on disk when Remember returns.
func (l *Lineage) Remember(step, session string) error {
	return l.change(func(f *lineageFile) { f.Steps[step] = session })
}

// Bump counts a run and returns its number, from 1.
func (l *Lineage) Bump() (woke int, err error) {
	woke, _, err = l.bump("")
	return woke, err
}

// bump counts a run, and tells which one began the lineage.
func (l *Lineage) bump(run string) (woke int, began string, err error) {
	err = l.change(func(f *lineageFile) {
		if f.Woke == 0 && f.Began == "" {
			f.Began = run
		}
		f.Woke++
		woke, began = f.Woke, f.Began
	})
	return woke, began, err
}

// Archive moves the lineage and other files (those that are there) together into
// <into>/<YYYYmmdd-HHMMSS>/ and so begins anew. It returns that folder, "" when
// there was nothing to move.
func (l *Lineage) Archive(into string, files ...string) (dir string, err error) {
	var there []string
	for _, path := range append([]string{l.path}, files...) {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	if len(there) == 0 {
		return "", nil
	}
	stamp := l.now().Format("20060102-150405")
	dir = filepath.Join(into, stamp)
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			break
		}
		dir = filepath.Join(into, fmt.Sprintf("%s-%d", stamp, n))
	}
	for _, path := range there {
		if err := atomicfile.Move(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// load reads the lineage; what is not ours, or cannot be read, comes back empty.
func (l *Lineage) load() (file lineageFile, broken bool) {
	raw, unreadable := l.read()
	file, broken = l.decode(raw)
	return file, broken || unreadable
}

func (l *Lineage) read() (raw []byte, unreadable bool) {
	if l.memory != nil {
		l.memory.mu.Lock()
		defer l.memory.mu.Unlock()
		return l.memory.raw, false
	}
	raw, err := os.ReadFile(l.path)
	return raw, err != nil && !errors.Is(err, fs.ErrNotExist)
}

func (l *Lineage) change(apply func(*lineageFile)) error {
	if _, unreadable := l.read(); unreadable {
		if err := os.Rename(l.path, asideName(l.path, l.now())); err != nil {
			return fmt.Errorf("the lineage cannot be read, nor moved aside: %w", err)
		}
	}
	changed := func(old []byte) ([]byte, error) {
		file, broken := l.decode(old)
		if broken {
			if _, err := moveAside(l.path, old, l.now()); err != nil {
				return nil, err
			}
		}
		apply(&file)
		out, err := json.MarshalIndent(file, "", "  ")
		return append(out, '\n'), err
	}
	if l.memory == nil {
		return atomicfile.Update(l.path, 0o644, changed)
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	out, err := changed(l.memory.raw)
	if err == nil {
		l.memory.raw = out
	}
	return err
}

// decode reads the file's content; what is not ours comes back empty.
func (l *Lineage) decode(raw []byte) (file lineageFile, broken bool) {
	empty := lineageFile{Workspace: l.workspace, RunDir: l.runDir, Steps: map[string]string{}, Of: map[string]string{}}
	if len(raw) == 0 {
		return empty, false
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Woke < 0 {
		return empty, true
	}
	if file.Workspace != l.workspace && !l.movedTogether(file) {
		return empty, false
	}
	file.Workspace, file.RunDir = l.workspace, l.runDir
	if file.Steps == nil {
		file.Steps = map[string]string{}
	}
	if file.Of == nil {
		file.Of = map[string]string{}
	}
	file.Others = slices.DeleteFunc(file.Others, func(o otherSteps) bool { return len(o.Steps) == 0 })
	return file, false
}

// movedTogether: both places are new, and lie to each other as the old ones did.
func (l *Lineage) movedTogether(file lineageFile) bool {
	if file.RunDir == "" || file.RunDir == l.runDir {
		return false
	}
	was, err := filepath.Rel(file.Workspace, file.RunDir)
	if err != nil {
		return false
	}
	is, err := filepath.Rel(l.workspace, l.runDir)
	return err == nil && was == is
}
