package luabind_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness/native"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/luabind"
	"github.com/flowerlua/flower/scripts"
)

// errDied is why a process that dies in these tests ends.
var errDied = errors.New("the process died")

// How a process dies at a write.
type death int

const (
	before death = iota // the write is not made
	after               // it is made, and nothing behind it
	torn                // a file is left as a power cut leaves it
)

// process is the store and the files of one process, which dies at its n-th write
// of either: from then on nothing is written, and the process's context ends.
type process struct {
	transcript.Store
	dir string
	at  int // the write to die at, from 1; 0: none
	how death
	die context.CancelCauseFunc

	mu    sync.Mutex
	count int
	dead  bool
	kinds []string // of the writes so far
}

// begin counts a write; done is called when it has been made.
func (p *process) begin(kind string) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return 0, errDied
	}
	p.count++
	p.kinds = append(p.kinds, kind)
	if p.count == p.at && p.how != after {
		return p.count, p.end()
	}
	return p.count, nil
}

// done may end the process behind write n.
func (p *process) done(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n == p.at {
		return p.end()
	}
	return nil
}

func (p *process) end() error {
	p.dead = true
	p.die(errDied)
	return errDied
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) write(kind string, do func() error) error {
	n, err := p.begin(kind)
	if err != nil {
		return err
	}
	return errors.Join(do(), p.done(n))
}

func (p *process) Append(ctx context.Context, key transcript.Key, expect uint64, es []transcript.Entry) (last uint64, err error) {
	err = p.write("append", func() (err error) {
		last, err = p.Store.Append(ctx, key, expect, es)
		return err
	})
	return last, err
}

func (p *process) Put(ctx context.Context, name string, value []byte, rev uint64) (next uint64, err error) {
	kind, _, _ := strings.Cut(name, "/")
	err = p.write("put "+kind, func() (err error) {
		next, err = p.Store.Put(ctx, name, value, rev)
		return err
	})
	return next, err
}

func (p *process) Fork(ctx context.Context, src transcript.Key, at string, dst transcript.Key) error {
	return p.write("fork", func() error { return p.Store.Fork(ctx, src, at, dst) })
}

// file is asked about every change of a file.
func (p *process) file(c atomicfile.Change) error {
	if c.Made {
		p.mu.Lock()
		n := p.count // of this change: a process writes its files one at a time
		p.mu.Unlock()
		return p.done(n)
	}
	path, err := filepath.Rel(p.dir, c.Path)
	if err != nil {
		return err
	}
	n, err := p.begin("file " + path)
	if err != nil && n == p.at && p.how == torn {
		p.tear(c)
	}
	return err
}

// tear leaves half of what is appended, and beside a file that is replaced a
// temporary one.
func (p *process) tear(c atomicfile.Change) {
	path, flags := c.Path, os.O_APPEND
	if !c.Appended {
		path, flags = filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"123"), 0
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, 0o600)
	if err != nil {
		return // not even its folder is there
	}
	defer f.Close()
	_, _ = f.Write(c.Data[:len(c.Data)/2])
}

// watched are the processes whose files are watched, by their folders.
var watched sync.Map

// watchFiles lets processes hear of the changes below their folders.
func watchFiles(t *testing.T) {
	t.Cleanup(atomicfile.Watch(func(c atomicfile.Change) (err error) {
		watched.Range(func(dir, p any) bool {
			if !strings.HasPrefix(c.Path, dir.(string)+"/") {
				return true
			}
			err = p.(*process).file(c)
			return false
		})
		return err
	}))
}

// life is a folder in which one process runs after the other, and what a person
// saw of them.
type life struct {
	studio
	rehearsal *luabind.Rehearsal
	mu        sync.Mutex
	asked     map[string]int // how often each question was asked, not reopened
}

func newLife(t *testing.T, r *luabind.Rehearsal) *life {
	return &life{studio: studio{t: t, dir: t.TempDir()}, rehearsal: r, asked: map[string]int{}}
}

// run is one process, which dies at write n; 0 lets it live.
func (l *life) run(n int, how death, options map[string]any) (engine.Ending, *process, error) {
	ctx, die := context.WithCancelCause(context.Background())
	defer die(nil)
	p := &process{Store: sharedStore(l.t), dir: l.dir, at: n, how: how, die: die}
	watched.Store(l.dir, p)
	defer watched.Delete(l.dir)
	var rt *engine.Runtime
	rt, err := engine.New(engine.Config{Workspace: l.dir, Store: p, NoRetry: true,
		Harness: native.New(native.Config{Model: l.rehearsal}),
		Sink:    event.SinkFunc(func(e event.Event) { l.see(rt, p, e) })})
	if err != nil {
		return engine.Ending{}, p, err
	}
	defer rt.Close()
	program, err := luabind.Load("starter.lua", scripts.Starter, &luabind.Options{Values: options})
	if err != nil {
		return engine.Ending{}, p, err
	}
	ending, err := program.Run(ctx, rt, nil)
	return ending, p, err
}

// see is the person, who answers what is asked.
func (l *life) see(rt *engine.Runtime, p *process, e event.Event) {
	if e.Kind != event.Ask || e.Payload["state"] != "asked" || p.isDead() {
		return // a dead process shows nothing
	}
	if e.Payload["again"] == nil {
		l.mu.Lock()
		l.asked[e.Text]++
		l.mu.Unlock()
	}
	rt.Channel().Answer(e.Payload["id"].(string), "two")
}

// dyingModel is studioModel whose worker leaves a line for each job, so that an
// effect done twice or not at all shows, prints much and writes a page, and whose
// judge counts the lines. Where it is told that nobody knows what became of a call, it
// looks first, and lets a subagent that was cut off go on.
var dyingModel = strings.NewReplacer(`elseif turn.step:find("verdict", 1, true) then
    local round = tonumber(turn.step:match("#(%d+)"))
`, `elseif turn.step:find("verdict", 1, true) then
    local results = turn.messages[#turn.messages].results
    if #results == 0 then return { tool = "Read", input = { file_path = "effects.txt" } } end
    local _, round = results[1].text:gsub("job %d", "")
`, `return "worked: " .. turn.prompt`, `
  if turn.agent ~= "" then
    local job = turn.messages[1].text:match("job %d")
    local tool, done, lost = {}, {}, {}
    for _, m in ipairs(turn.messages) do
      for _, c in ipairs(m.calls) do tool[c.id] = c.tool end
      for _, r in ipairs(m.results) do
        (r.text:find("may or may not", 1, true) and lost or done)[tool[r.id]] = true
      end
    end
    if not done.Bash then
      local leave = "echo '" .. job .. "' >> effects.txt; seq 1500"
      return { tool = "Bash", input = { command = lost.Bash and "grep -qx '" .. job .. "' effects.txt || " .. leave or leave } }
    elseif not done.Write then
      return { tool = "Write", input = { file_path = job .. ".html", content = job } }
    end
    return "Conclusion: " .. job .. " is done"
  end
  local job, done, resume = 1, false, nil
  for _, m in ipairs(turn.messages) do
    local sent_back = m.text:match("round (%d) lacks")
    if sent_back then job, done, resume = sent_back + 1, false, nil end
    for _, r in ipairs(m.results) do
      if r.text:find("Conclusion", 1, true) then done = true end
      resume = r.text:match('resume "(%x+)"')
    end
  end
  if done then return "the round is done" end
  return { tool = "Agent", input = { description = "d", subagent_type = "coder", prompt = "job " .. job, resume = resume } }
`).Replace(studioModel)

func loadModel(t *testing.T, source string) *luabind.Rehearsal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.lua")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := luabind.LoadRehearsal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestStarter_dies_at_every_write lets the process die at each write in turn,
// of the store and of files, and runs it again: it ends as if nothing had happened,
// no question is asked twice, no command runs twice.
func TestStarter_dies_at_every_write(t *testing.T) {
	watchFiles(t)
	model := loadModel(t, dyingModel)
	options := map[string]any{"ask": "make me a page"}
	whole := newLife(t, model)
	ending, p, err := whole.run(0, before, options)
	if err != nil || !ending.OK {
		t.Fatalf("%+v, %v", ending, err)
	}
	want := whole.left(ending)
	t.Logf("%d writes: %s\n%s", len(p.kinds), strings.Join(p.kinds, ", "), want)
	dieAtEach(t, p.kinds, func(n int, how death) error {
		l := newLife(t, model)
		if ending, p, err := l.run(n, how, options); err == nil && ending.OK && p.isDead() {
			return errors.New("the process that died ended well")
		}
		ending, _, err := l.run(0, before, options)
		if err != nil || !ending.OK {
			return fmt.Errorf("the next process ended at %q: %s, %v", ending.FailedAt, ending.Reason, err)
		}
		if diff := cmp.Diff(want, l.left(ending)); diff != "" {
			return errors.New(diff)
		}
		for question, times := range l.asked {
			if times > 1 {
				return fmt.Errorf("%q was asked %d times", question, times)
			}
		}
		return nil
	})
}

// dieAtEach calls try for every write, a few at the same time: with one of the
// deaths that it can die, in turn, and with FLOWER_TEST_LONG set with all of them.
func dieAtEach(t *testing.T, kinds []string, try func(n int, how death) error) {
	type one struct {
		n   int
		how death
	}
	work := make(chan one)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for o := range work {
				if err := try(o.n, o.how); err != nil {
					t.Errorf("write %d (%s), death %d: %v", o.n, kinds[o.n-1], o.how, err)
				}
			}
		})
	}
	for i, kind := range kinds {
		deaths := []death{before, after}
		if strings.HasPrefix(kind, "file ") {
			deaths = append(deaths, torn)
		}
		if os.Getenv("FLOWER_TEST_LONG") == "" {
			deaths = deaths[i%len(deaths):][:1]
		}
		for _, how := range deaths {
			work <- one{i + 1, how}
		}
	}
	close(work)
	wg.Wait()
}

// logged is a question in the log that is there as a whole.
var logged = regexp.MustCompile(`## q\d+ [-\d]+ [:\d]+ (\(answered\)\n\nquestion \d\n1\. one\n2\. two\n\n> two\n)`)

// left is what the processes left: documents and effects, the files, the steps
// that are remembered, the context.
func (l *life) left(ending engine.Ending) string {
	var b strings.Builder
	notes := filepath.Join(".flower", "notes")
	for _, path := range []string{"effects.txt", notes + "/brief.md", notes + "/goal.md", notes + "/asks.json"} {
		fmt.Fprintf(&b, "%s: %s\n", path, l.read(path))
	}
	for _, entry := range logged.FindAllStringSubmatch(l.read(notes+"/qa.md"), -1) {
		fmt.Fprintf(&b, "log: %s\n", entry[1])
	}
	fmt.Fprintf(&b, "files: %v\n", l.files())
	fmt.Fprintf(&b, "remembered: %v\n", slices.Sorted(maps.Keys(engine.OpenLineage(filepath.Join(l.dir, "runs"), l.dir).Steps())))
	for _, step := range []string{"clarify", "goal"} {
		value, _ := ending.Context.Get(step)
		fmt.Fprintf(&b, "%s: %v\n", step, value)
	}
	return b.String()
}

// files are the names of all files but locks, what a death left beside others, and
// more than one of long outputs, which are named by their content.
func (l *life) files() (names []string) {
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(l.dir, path)
		if folder := filepath.Dir(name); filepath.Base(folder) == "spill" {
			if name = filepath.Join(folder, "*"); slices.Contains(names, name) {
				return err
			}
		}
		if base := filepath.Base(name); base != ".lock" && !strings.HasSuffix(base, "123") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
	return names
}
