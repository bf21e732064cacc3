package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ripgrep searches with rg. note is what went wrong beside matches.
func (s *Set) ripgrep(ctx context.Context, rg string, q search, hits *hitList) (note string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, args := rgArgs(q)
	cmd := exec.CommandContext(ctx, rg, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var diagnostic limitedBuffer
	cmd.Stderr = &diagnostic
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	readErr := readHits(bufio.NewReaderSize(out, 64<<10), q, hits)
	if hits.full || readErr != nil {
		cancel()
	}
	_, _ = io.Copy(io.Discard, out) // until it has ended; what it still says is not wanted
	err = cmd.Wait()
	said := strings.TrimSpace(clean(diagnostic.b))
	switch code := cmd.ProcessState.ExitCode(); {
	case readErr != nil:
		return "", readErr
	case code == 0 || code == 1 || hits.full || ctx.Err() != nil:
		return "", nil
	case code == 2 && (len(hits.lines) > 0 || hits.passed > 0):
		// Some files could not be searched.
		return "not complete: " + said, nil
	case said != "":
		return "", errors.New(said)
	}
	return "", err
}

// rgArgs is where to run rg and with what. Its own settings are left aside, so
// that it finds what the other engine finds.
func rgArgs(q search) (dir string, args []string) {
	args = []string{
		"--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--sort=path",
		"--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-dot",
		"--max-columns=" + strconv.Itoa(grepColumns), "--max-columns-preview",
	}
	switch q.mode {
	case "files_with_matches":
		args = append(args, "--files-with-matches")
	case "count":
		args = append(args, "--count")
	default:
		args = append(args, "--line-number", "--before-context="+strconv.Itoa(q.before), "--after-context="+strconv.Itoa(q.after))
	}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.multiline {
		args = append(args, "--multiline", "--multiline-dotall")
	}
	if q.kind != "" {
		args = append(args, "--type="+q.kind)
	}
	if q.glob != "" {
		args = append(args, "--glob="+q.glob)
	}
	args = append(args, "--glob=!.git", "-e", q.pattern, "--")
	if q.file {
		return filepath.Dir(q.root), append(args, q.root)
	}
	return q.root, append(args, ".")
}

// readHits parses rg's output: "path NUL rest" lines and "--" between groups, or
// paths that each end in a NUL.
func readHits(r *bufio.Reader, q search, hits *hitList) error {
	end := byte('\n')
	if q.mode == "files_with_matches" {
		end = 0
	}
	for {
		line, err := readBounded(r, end)
		if len(line) > 0 && !rgLine(line, q, hits) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from rg: %w", err)
		}
	}
}

// readBounded reads up to an end mark, which it drops with whatever is over a
// bound that no line of rg's reaches.
func readBounded(r *bufio.Reader, end byte) ([]byte, error) {
	const most = 1 << 20
	var line []byte
	for {
		part, err := r.ReadSlice(end)
		if room := most - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte{end}), err
		}
	}
}

// rgLine takes one line; false ends the reading.
func rgLine(line []byte, q search, hits *hitList) bool {
	if q.mode == "files_with_matches" {
		return hits.file(q, string(line), -1)
	}
	path, rest, ok := bytes.Cut(line, []byte{0})
	if !ok {
		if string(line) == "--" {
			return hits.add("--")
		}
		return true
	}
	if q.mode == "count" {
		n, err := strconv.Atoi(string(rest))
		return err != nil || hits.file(q, string(path), n)
	}
	i := bytes.IndexAny(rest, ":-")
	if i < 0 {
		return true
	}
	number, err := strconv.Atoi(string(rest[:i]))
	if err != nil {
		return true
	}
	return hits.line(q, q.absolute(string(path)), number, rest[i], strings.TrimSuffix(string(rest[i+1:]), "\r"))
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct{ b []byte }

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if room := 4096 - len(l.b); room > 0 {
		l.b = append(l.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
