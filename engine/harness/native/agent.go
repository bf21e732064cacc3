package native

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/spell"
)

// order is the input of an Agent call.
type order struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Isolation   string `json:"isolation"`
	Dir         string `json:"cwd"`
	Resume      string `json:"resume"`
}

const agentIntro = `Dispatches a subagent that works on one task with a context of its own. Only its report comes back, so its reading and trying do not fill your context.

- Several calls in one message run side by side. Dispatch tasks together that do not depend on each other and do not write the same files.
- The subagent knows nothing of this conversation. The prompt says the goal, where things are (paths, not contents), and how to tell that it is done.
- isolation "worktree" gives it a git worktree of its own, so that its changes do not meet those of others; the report names the branch.
- resume continues a subagent with all it knows, by the id that its report or an interruption named. Then the prompt says what to do next.

The subagents there are (subagent_type):
`

// dispatcher is the Agent tool of a thread.
func (t *thread) dispatcher() tool.Tool {
	workers := t.run.turn.Agent.Workers
	names := slices.Sorted(maps.Keys(workers))
	var about strings.Builder
	about.WriteString(agentIntro)
	for _, n := range names {
		fmt.Fprintf(&about, "- %s: %s\n", n, strings.Join(strings.Fields(workers[n].Description), " "))
	}
	kind := new(object).str("type", "string").any("enum", names).bytes()
	str := func(what string) json.RawMessage {
		return new(object).str("type", "string").str("description", what).bytes()
	}
	fields := new(object).
		raw("description", str("the task in three to five words")).
		raw("prompt", str("the task")).
		raw("subagent_type", kind).
		raw("isolation", []byte(`{"type":"string","enum":["worktree"]}`)).
		raw("cwd", str("the folder to work in, within the workspace; default: yours")).
		raw("resume", str("the id of a subagent to continue")).bytes()
	schema := new(object).str("type", "object").raw("properties", fields).
		raw("required", []byte(`["description","prompt"]`)).bytes()
	return tool.Func{
		Def:  tool.Definition{Name: agentTool, Description: strings.TrimSpace(about.String()), Schema: schema},
		Call: t.dispatch,
	}
}

// dispatch runs a subagent to its report. Every way it can end gives a result.
func (t *thread) dispatch(ctx context.Context, c tool.Call) tool.Result {
	var o order
	if err := json.Unmarshal(c.Input, &o); err != nil {
		return tool.ErrorResult(fmt.Sprintf("The input of Agent does not fit its schema: %v.", err))
	}
	s, why := t.prepare(ctx, c.ID, o)
	if why != "" {
		return tool.ErrorResult(why)
	}
	defer t.run.release(s)
	place := t.run.places[t.depth]
	select {
	case place <- struct{}{}:
		defer func() { <-place }()
	case <-ctx.Done():
		return tool.ErrorResult("The subagent was not started.")
	}
	return s.execute(ctx, c.ID, o)
}

// subagent is a dispatch that has been let through.
type subagent struct {
	parent *thread
	id     string
	resume bool
	worker harness.Worker
	from   dispatch
	fresh  bool // it gets a worktree that is still to be made
	thread *thread
}

// prepare checks an order and claims what it needs; why says what is wrong.
func (t *thread) prepare(ctx context.Context, callID string, o order) (s *subagent, why string) {
	r := t.run
	s = &subagent{parent: t, id: o.Resume, resume: o.Resume != ""}
	s.from = dispatch{Type: o.Type, Call: callID, Dir: t.workingDir(), Depth: t.depth + 1}
	switch {
	case strings.TrimSpace(o.Prompt) == "":
		return nil, "The prompt is empty. Say what the subagent shall do."
	case s.resume:
		if why := s.recall(ctx); why != "" {
			return nil, why
		}
	default:
		s.id = r.newAgentID(ctx, callID)
	}
	if o.Type != "" {
		s.from.Type = o.Type
	}
	if workers := r.turn.Agent.Workers; s.from.Type == "" && len(workers) == 1 {
		for name := range workers {
			s.from.Type = name
		}
	}
	worker, ok := r.turn.Agent.Workers[s.from.Type]
	if !ok {
		names := slices.Sorted(maps.Keys(r.turn.Agent.Workers))
		return nil, fmt.Sprintf("There is no subagent_type %q%s. There are: %s.", s.from.Type, spell.Hint(s.from.Type, names), strings.Join(names, ", "))
	}
	s.worker = worker
	if why := s.choosePlace(o); why != "" {
		return nil, why
	}
	return s, r.claim(s)
}

// claim counts a dispatch; why says that there were too many, or that the
// subagent works already.
func (r *run) claim(s *subagent) (why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.working[s.id]:
		return fmt.Sprintf("The subagent %s is working right now. Wait for its report.", s.id)
	case r.dispatches >= r.h.config.MaxDispatches:
		return fmt.Sprintf("No more subagents can be dispatched in this turn: %d are the limit. Do the rest yourself, or end and say what is left.", r.h.config.MaxDispatches)
	}
	r.dispatches++
	r.working[s.id] = true
	r.ledger.count(s.parent.sub(), 0, 1)
	return ""
}

func (r *run) release(s *subagent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.working, s.id)
}

// agentID is the id of the n-th subagent that a call dispatches. It follows from
// the call, so that after a crash the subagent of an unanswered call is found.
func agentID(call string, n int) string {
	if n > 1 {
		call += "#" + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(call))
	return hex.EncodeToString(sum[:6])
}

// newAgentID is the first id of a call that is not taken. A provider's call ids
// are unique, a rehearsal's may not be.
func (r *run) newAgentID(ctx context.Context, call string) string {
	for n := 1; ; n++ {
		id := agentID(call, n)
		if _, err := r.turn.Store.Head(ctx, r.subKey(id)); err != nil {
			r.mu.Lock()
			taken := r.working[id]
			r.mu.Unlock()
			if !taken {
				return id
			}
		}
	}
}

func (r *run) subKey(id string) transcript.Key {
	return transcript.Key{Project: r.turn.Project, Session: r.session}.Subagent(id)
}

// started finds the subagents of calls that a crash left without a result.
func (t *thread) started(ctx context.Context, cut []transcript.Call) map[string]string {
	agents := map[string]string{}
	for _, c := range cut {
		if c.Name != agentTool {
			continue
		}
		if id := text(member(c.Input, "resume")); id != "" {
			agents[c.ID] = id
			continue
		}
		for n := 1; ; n++ {
			id := agentID(c.ID, n)
			if _, err := t.run.turn.Store.Head(ctx, t.run.subKey(id)); err != nil {
				break
			}
			agents[c.ID] = id
		}
	}
	return agents
}

var agentIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const longestAgentID = 64

// recall reads how the subagent to resume was started.
func (s *subagent) recall(ctx context.Context) (why string) {
	r := s.parent.run
	if !agentIDForm.MatchString(s.id) || len(s.id) > longestAgentID {
		return fmt.Sprintf("%q is no id of a subagent. Take the id from its report.", s.id)
	}
	entries, err := r.load(ctx, r.subKey(s.id))
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return fmt.Sprintf("There is no subagent %q in this session. Take the id from its report, or dispatch a new one.", s.id)
	case err != nil:
		return fmt.Sprintf("The transcript of subagent %q could not be read. Dispatch a new one.", s.id)
	}
	if from := readPrefix(entries).prefix.Agent; from != nil {
		s.from.Type, s.from.Dir, s.from.Worktree = from.Type, from.Dir, from.Worktree
	}
	return ""
}

// choosePlace decides where the subagent works. It stays within what the
// dispatching thread may use.
func (s *subagent) choosePlace(o order) (why string) {
	t := s.parent
	isolation := o.Isolation
	if s.worker.Isolate && isolation == "" && o.Dir == "" && !s.resume {
		isolation = "worktree"
	}
	if o.Dir != "" {
		dir := o.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(t.workingDir(), dir)
		}
		if !isDir(dir) {
			return fmt.Sprintf("There is no folder %s.", dir)
		}
		a := t.run.turn.Agent
		roots := append([]string{a.Workspace, t.dir}, a.AddDirs...)
		roots = append(roots, t.run.allWorktrees()...)
		if a.PermissionMode != harness.BypassPermissions && !within(dir, roots) {
			return fmt.Sprintf("A subagent cannot work in %s: it is outside of the workspace.", dir)
		}
		s.from.Dir = dir
	}
	switch isolation {
	case "":
	case "worktree":
		s.fresh = !s.resume
	default:
		return fmt.Sprintf("isolation is %q; the only kind there is is \"worktree\".", isolation)
	}
	return ""
}

// execute runs the subagent and makes its report.
func (s *subagent) execute(ctx context.Context, callID string, o order) tool.Result {
	r := s.parent.run
	tree, why := s.enter(ctx)
	if why != "" {
		return tool.ErrorResult(why)
	}
	t := &thread{run: r, id: s.id, call: callID, role: s.from.Type, depth: s.parent.depth + 1, dir: s.from.Dir,
		turns: s.worker.MaxTurns}
	s.thread = t
	t.journal = r.journal(r.subKey(s.id), s.id, s.from.Dir)
	tools := s.worker.Tools
	if len(tools) == 0 {
		tools = workerTools
	}
	mode := s.worker.PermissionMode
	if mode == "" {
		mode = r.turn.Agent.PermissionMode
	}
	t.equip(tools, mode, r.turn.Agent.ReadableSkills(s.worker))
	t.say(event.Event{Kind: event.Task, Text: s.from.Type + ": " + o.Description,
		Payload: map[string]any{"phase": "started", "agent": s.id, "type": s.from.Type, "resumed": s.resume}})
	end, err := s.work(ctx, o)
	t.close()
	note := s.leave(ctx, tree)
	out := s.report(end, err, note)
	t.say(event.Event{Kind: event.Task, Text: s.from.Type + ": " + o.Description, Payload: map[string]any{
		"phase": "finished", "agent": s.id, "type": s.from.Type, "is_error": out.IsError}})
	return out
}

func (s *subagent) work(ctx context.Context, o order) (ending, error) {
	t, r := s.thread, s.parent.run
	err := t.open(ctx, opening{
		resume: s.resume, static: static(systemPrompt, subagentPrompt, s.worker.Prompt),
		environment: environment(t.dir, r.turn.Agent.AddDirs),
		model:       r.workerModel(s.worker), effort: cmp.Or(s.worker.Effort, r.effort()), agent: &s.from,
	})
	if err != nil {
		return ending{}, err
	}
	t.say(event.Event{Kind: event.Prompt, Text: o.Prompt})
	return t.work(ctx, o.Prompt)
}

// workerModel is the model of a worker: its own, else the one set for all, else
// its dispatcher's.
func (r *run) workerModel(w harness.Worker) string {
	for _, name := range []string{w.Model, r.h.config.SubagentModel, r.turn.Agent.Model} {
		if name != "" && name != "inherit" {
			return r.h.resolve(name)
		}
	}
	return r.h.resolve("")
}

func (r *run) effort() string {
	if r.turn.Agent.Effort != "" {
		return r.turn.Agent.Effort
	}
	return r.h.config.Effort
}

// report is what the dispatching thread gets: the subagent's last message, or why
// there is none and what there is instead.
func (s *subagent) report(end ending, err error, note string) tool.Result {
	t := s.thread
	account := fmt.Sprintf("[subagent %s (%s): %d turns, %d tool calls, %d tokens", s.id, s.from.Type, t.used.Turns, t.used.ToolCalls, total(t.used.Tokens))
	if t.info.Price != nil {
		account += fmt.Sprintf(", $%.4f", t.cost)
	}
	account += "]" + note
	structured := new(object).str("agentId", s.id).str("agentType", s.from.Type).str("status", s.status(end, err)).
		any("totalTokens", total(t.used.Tokens)).any("totalToolUseCount", t.used.ToolCalls).raw("usage", usageJSON(t.used.Tokens))
	if s.from.Worktree != "" {
		structured.str("worktreePath", s.from.Worktree)
	}
	if err == nil && end.stop == harness.EndTurn && strings.TrimSpace(t.last) != "" {
		r := tool.TextResult(t.last + "\n\n" + account)
		r.Structured = structured.bytes()
		return r
	}
	words := fmt.Sprintf("The subagent %s did not finish: %s. What it has done so far is kept; to let it go on, call Agent with resume %q and a prompt that says how.", s.id, why(end, err), s.id)
	if t.last != "" {
		words += "\n\nIts last words, incomplete and no evidence of anything:\n" + t.last
	}
	r := tool.ErrorResult(words + "\n\n" + account)
	r.Structured = structured.bytes()
	return r
}

func (s *subagent) status(end ending, err error) string {
	switch {
	case err != nil:
		return string(harness.Failed)
	case end.stop == harness.EndTurn:
		return "completed"
	}
	return string(end.stop)
}

// why says in a few words how a subagent ended that has no report. The text of an
// error of the provider stays out: it is nobody's finding.
func why(end ending, err error) string {
	switch {
	case err == nil && end.detail != "":
		return end.detail
	case err == nil:
		return "it ended without a report"
	case errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted):
		return "it was interrupted"
	case errors.Is(err, transcript.ErrConflict):
		return "another process writes its transcript"
	case errors.As(err, new(*model.Error)) && failure.Classify(err) != failure.Transient:
		return "a request to the model was refused"
	case failure.Classify(err) == failure.Transient:
		return "the model could not be reached, or was overloaded"
	}
	return "it could not be started or recorded"
}
