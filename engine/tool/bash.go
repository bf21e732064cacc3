package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const bashSchema = `{"type":"object","properties":{
"command":{"type":"string","description":"The command line, for bash"},
"timeout":{"type":"integer","description":"Milliseconds after which the command is ended"},
"description":{"type":"string","description":"What it does, in five to ten words"},
"run_in_background":{"type":"boolean","description":"Return at once with an id for BashOutput and KillBash"}},
"required":["command"]}`

type bashInput struct {
	Command     string `json:"command"`
	Timeout     number `json:"timeout"`
	Description string `json:"description"`
	Background  truth  `json:"run_in_background"`
}

// carryScript runs its first argument and leaves the directory it ended in in
// the file of its second. It is one line, so that the line numbers in error
// messages are those of the command; tracing (set -x) does not show the trap.
const carryScript = `__flower_command=$1 __flower_cwd=$2; shift 2; ` +
	`trap '{ set +x; pwd -P >|"$__flower_cwd"; } 2>/dev/null' EXIT; eval "$__flower_command"`

func (s *Set) bash(ctx context.Context, c Call) Result {
	var in bashInput
	if err := decode(c, &in, "command"); err != nil {
		return inputError("Bash", err)
	}
	if err := s.mayRun(in.Command); err != nil {
		return ErrorResult(err.Error())
	}
	dir, err := s.commandDir()
	if err != nil {
		return ErrorResult(err.Error())
	}
	if !s.begin() {
		return ErrorResult("the session has ended; no command can be started any more")
	}
	defer s.calls.Done()
	if in.Background {
		return s.runBackground(in, dir)
	}
	return s.runForeground(ctx, in, dir)
}

// mayRun refuses what the permission mode does not allow.
func (s *Set) mayRun(command string) error {
	if strings.ContainsRune(command, 0) {
		return errors.New("the command holds a NUL, which no command line can")
	}
	switch s.o.PermissionMode {
	case "", "default", "acceptEdits", "bypassPermissions":
		return nil
	}
	if s.o.Ephemeral != nil && s.o.Ephemeral(command) {
		return nil
	}
	return fmt.Errorf("not run: permission_mode is %s, so only commands that look and change nothing are; say in your reply what should be run", s.o.PermissionMode)
}

// begin counts a command that is about to start, so that Close waits for it;
// false after Close.
func (s *Set) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// commandDir is where the next command starts. A directory that was deleted is
// an error once; after that the workspace is the working directory again.
func (s *Set) commandDir() (string, error) {
	dir := s.workingDir()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	if dir == s.o.Workspace {
		return "", fmt.Errorf("the workspace %s does not exist any more, so no command can start in it", dir)
	}
	s.setDir(s.o.Workspace)
	return "", fmt.Errorf("the working directory %s does not exist any more; it is %s from now on: call again", dir, s.o.Workspace)
}

func (s *Set) setDir(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// launch starts the command; cwdFile, if any, will hold the directory it ended in.
func (s *Set) launch(in bashInput, dir, cwdFile string) (*job, error) {
	j := &job{
		command:     in.Command,
		description: in.Description,
		mark:        s.nextMark(),
		started:     s.o.Now(),
		out:         newCapture(s.outputDir(), s.lim.OutputChars, s.lim.OutputBytes),
		grace:       s.lim.Grace,
	}
	shell := "bash"
	if _, err := exec.LookPath(shell); err != nil {
		shell = "sh"
	}
	cmd := exec.Command(shell, "-c", in.Command)
	if cwdFile != "" {
		cmd = exec.Command(shell, "-c", carryScript, shell, in.Command, cwdFile)
	}
	cmd.Dir = dir
	cmd.Env = s.environ(j.mark, dir)
	s.watch()
	err := j.start(cmd)
	if errors.Is(err, syscall.E2BIG) {
		return nil, fmt.Errorf("the command is too long for one call (%s): write it to a file and run that", size(int64(len(in.Command))))
	}
	if err != nil {
		return nil, fmt.Errorf("the command did not start: %w", err)
	}
	return j, nil
}

// watch has what this Set starts ended also if this process is killed.
func (s *Set) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unwatch == nil {
		s.unwatch = watchOver()
	}
}

func (s *Set) runBackground(in bashInput, dir string) Result {
	if live := s.live(); len(live) >= s.lim.Jobs {
		return ErrorResult(fmt.Sprintf("%d background commands are running, more are not allowed; end one with KillBash, such as %s (%s)",
			len(live), live[0].ID, firstChars(live[0].Command, 80)))
	}
	j, err := s.launch(in, dir, "")
	if err != nil {
		return ErrorResult(err.Error())
	}
	s.add(j)
	return TextResult(fmt.Sprintf("started in the background as %s; BashOutput shows what it prints, KillBash ends it, and the end of the session does", j.id)).
		with(record{Job: j.id})
}

func (s *Set) runForeground(ctx context.Context, in bashInput, dir string) Result {
	cwdFile := ""
	if !s.o.Subagent {
		f, err := os.CreateTemp("", "flower-cwd-*")
		if err != nil {
			return ErrorResult(fmt.Sprintf("the command was not run: %v; free space in the temporary folder", err))
		}
		f.Close()
		cwdFile = f.Name()
		defer os.Remove(cwdFile)
	}
	j, err := s.launch(in, dir, cwdFile)
	if err != nil {
		return ErrorResult(err.Error())
	}
	limit := s.timeout(in.Timeout)
	cut := s.await(ctx, j, limit)
	return s.result(j, cut, limit, cwdFile, dir)
}

func (s *Set) timeout(ms number) time.Duration {
	if ms <= 0 {
		return s.lim.Timeout
	}
	return min(time.Duration(ms)*time.Millisecond, s.lim.MaxTimeout)
}

// cut says what ended a command before its time.
type cut int

const (
	notCut cut = iota
	timedOut
	cancelled
)

// await returns when the shell has exited; a command that takes too long is
// ended first.
func (s *Set) await(ctx context.Context, j *job, limit time.Duration) cut {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	why := notCut
	select {
	case <-j.settled:
		j.waitGone(lateWait)
		return notCut
	case <-timer.C:
		why = timedOut
	case <-ctx.Done():
		why = cancelled
	case <-s.done:
		why = cancelled
	}
	_ = j.end() // what cannot be ended is shown as left behind
	return why
}

// result tells how the command ended, then what it printed, then what is left.
// The end comes first, since a long result may be cut to its beginning later on.
func (s *Set) result(j *job, why cut, limit time.Duration, cwdFile, dir string) Result {
	rec := record{TimedOut: why == timedOut}
	text, file := j.out.text(s.lim.OutputChars)
	rec.OutputFile = file
	status := s.status(j, why, limit, &rec)
	parts := []string{status, strings.TrimRight(text, "\n")}
	if text == "" && status == "" {
		parts[1] = "(no output)"
	}
	if cwdFile != "" && why == notCut {
		parts = append(parts, s.carry(cwdFile, dir, &rec))
	}
	if !j.isGone() {
		s.add(j)
		rec.Job = j.id
		parts = append(parts, fmt.Sprintf("(processes it started are still running, as background command %s)", j.id))
	}
	r := TextResult(joinLines(parts))
	r.IsError = status != ""
	return r.with(rec)
}

func joinLines(parts []string) string {
	var lines []string
	for _, p := range parts {
		if p != "" {
			lines = append(lines, p)
		}
	}
	return strings.Join(lines, "\n")
}

// status is one line on how a command ended; empty when it ended well.
func (s *Set) status(j *job, why cut, limit time.Duration, rec *record) string {
	how, code, signal := exitOf(j)
	rec.ExitCode, rec.Signal = code, signal
	switch {
	case j.tooMuch.Load():
		return fmt.Sprintf("ended because it printed more than %s", size(s.lim.OutputBytes))
	case why == timedOut:
		return fmt.Sprintf("timed out after %v and was ended with all it started; give a longer timeout (at most %d ms) or use run_in_background",
			limit, s.lim.MaxTimeout.Milliseconds())
	case why == cancelled:
		return "cancelled: the command was ended with all it started"
	}
	return how
}

// exitOf tells exit codes and signals apart; how is empty for code 0.
func exitOf(j *job) (how string, code *int, signal string) {
	select {
	case <-j.settled:
	default:
		return "it does not end, even when killed", nil, ""
	}
	if j.state == nil {
		return "its end could not be observed", nil, ""
	}
	ws, ok := j.state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return fmt.Sprintf("ended by signal %d (%v)", int(ws.Signal()), ws.Signal()), nil, ws.Signal().String()
	}
	n := j.state.ExitCode()
	switch {
	case n == 0:
	case n > 128 && n < 160:
		// What a shell says of a command that a signal ended.
		how = fmt.Sprintf("exit code %d (128 + signal %d, %v)", n, n-128, syscall.Signal(n-128))
	default:
		how = fmt.Sprintf("exit code %d", n)
	}
	return how, &n, ""
}

// carry makes the directory a command ended in the one of the next, if it lies
// in the folders the agent works in; else it says that it stays.
func (s *Set) carry(cwdFile, dir string, rec *record) string {
	b, err := os.ReadFile(cwdFile)
	to := strings.TrimSuffix(string(b), "\n")
	if err != nil || to == "" || to == dir {
		return "" // exec replaced the shell, or the directory is gone: the next call sees
	}
	if real, err := realPath(dir); err == nil && real == to {
		return ""
	}
	if !inside(to, s.homes()...) {
		return fmt.Sprintf("(the working directory stays %s: %s is outside the workspace)", dir, to)
	}
	s.setDir(to)
	rec.Cwd = to
	return ""
}

func (s *Set) outputDir() string {
	if s.o.OutputDir != "" {
		return s.o.OutputDir
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("flower-output-%d", os.Getuid()))
}
