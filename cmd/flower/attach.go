package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/live"
	"github.com/flowerlua/flower/internal/spell"
)

// attachCommand looks at a run that is at work and steers it.
type attachCommand struct {
	Run string `arg:"" optional:"" help:"The beginning of the run's id (or of the id in its events and accounts), or its process id; needed where several are at work."`
}

// attach connects to a run and shows it until it ends, or until the person detaches.
func (a *app) attach(ctx context.Context, c *cli) error {
	_, runDir, err := c.existing()
	if err != nil {
		return err
	}
	notice, err := chooseLive(ctx, runDir, c.Attach.Run)
	if err != nil {
		return err
	}
	if notice.Elsewhere() {
		return fmt.Errorf("run %s is at work on %s; attach there", notice.Run, notice.Host)
	}
	client, err := live.Dial(ctx, notice)
	switch {
	case ctx.Err() != nil:
		return detached(ctx)
	case errors.Is(err, live.ErrSilent):
		return fmt.Errorf("run %s does not answer: its process %d is stopped (fg in its terminal, or kill -CONT %d, lets it go on)", notice.Run, notice.PID, notice.PID)
	case err != nil:
		return fmt.Errorf("run %s cannot be reached: %w", notice.Run, err)
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })() // ends a Read that waits
	defer keepPipes()()
	if c.JSON {
		err = a.relay(client)
	} else {
		v := a.newView(c, client)
		if err = v.follow(); errors.Is(context.Cause(ctx), errInterrupted) {
			v.screen.last("detached; the run goes on, and flower attach comes back to it")
		}
	}
	if ctx.Err() != nil {
		return detached(ctx)
	}
	return err
}

// detached is no failure: the run goes on.
func detached(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return nil
	}
	return context.Cause(ctx)
}

// chooseLive is the run at work that is named, or the only one.
func chooseLive(ctx context.Context, runDir, name string) (live.Notice, error) {
	all, err := live.List(liveDir(runDir))
	if err != nil {
		return live.Notice{}, fmt.Errorf("runs at work: %w", err)
	}
	if len(all) == 0 && name != "" {
		return live.Notice{}, wrongUse("there is no run %q: no run is at work in %s (flower runs shows what ran)", name, shownPath(runDir))
	}
	if len(all) == 0 {
		return live.Notice{}, fmt.Errorf("no run is at work in %s: start one (flower --help says how), or name another place with -w or -r; flower runs shows what ran", shownPath(runDir))
	}
	var found []live.Notice
	var ids []string
	for _, n := range all {
		ids = append(ids, n.Run)
		if strings.HasPrefix(n.Run, name) || strconv.Itoa(n.PID) == name {
			found = append(found, n)
		}
	}
	if len(found) == 0 && runID.MatchString(name) {
		found = slices.DeleteFunc(slices.Clone(all), func(n live.Notice) bool { return !runsWorkflow(ctx, n, name) })
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return live.Notice{}, fmt.Errorf("no run %q is at work in %s%s; there is %s", name, shownPath(runDir), spell.Hint(name, ids), strings.Join(ids, ", "))
	}
	lines := []string{"several runs are at work here; name one:"}
	for _, n := range found {
		line := fmt.Sprintf("  %s  process %d  since %s  %s", n.Run, n.PID, clock(n.Started, time.Now()), oneLine(n.Script))
		if n.Elsewhere() {
			line += "  on " + oneLine(n.Host)
		}
		lines = append(lines, line)
	}
	return live.Notice{}, wrongUse("%s", strings.Join(lines, "\n"))
}

// runsWorkflow: the run at work told lately of a workflow whose id begins so. A run
// that says nothing is not the one.
func runsWorkflow(ctx context.Context, n live.Notice, id string) bool {
	if n.Elsewhere() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, live.Patience)
	defer cancel()
	client, err := live.Dial(ctx, n)
	if err != nil {
		return false
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })() // ends a Read that waits
	for last := client.Hello().Seq; last > 0; {
		line, err := client.Read()
		var e event.Event
		if err != nil || json.Unmarshal(line, &e) != nil || e.Seq > last {
			return false
		}
		if strings.HasPrefix(e.Run, id) {
			return true
		}
		if e.Seq == last {
			return false
		}
	}
	return false
}

// errGone is a connection that ended before the run said so.
var errGone = errors.New("the run is gone and said nothing: it was killed, perhaps; run the same command again to go on")

// relay hands the stream to another program as it comes, and what that writes to the
// run: requests, one a line.
func (a *app) relay(client *live.Client) error {
	go func() { // for as long as the process lives
		in := bufio.NewScanner(a.in)
		in.Buffer(nil, live.MaxRequest)
		for in.Scan() && client.SendRaw(append(slices.Clone(in.Bytes()), '\n')) == nil {
		}
	}()
	out := guarded{a.out, a.signals}
	line := client.Greeting()
	for {
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		if isEnd(line) {
			return nil
		}
		var err error
		if line, err = client.Read(); err != nil {
			return gone(err)
		}
	}
}

func isEnd(line []byte) bool {
	var l struct {
		Kind string `json:"kind"`
	}
	return bytes.Contains(line, []byte(live.KindEnd)) && json.Unmarshal(line, &l) == nil && l.Kind == live.KindEnd
}

// gone is what a read that failed means.
func gone(err error) error {
	if errors.Is(err, live.ErrTooLong) {
		return err
	}
	if errors.Is(err, io.EOF) {
		return errGone
	}
	return fmt.Errorf("%w (%v)", errGone, err)
}
