package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const bashOutputSchema = `{"type":"object","properties":{
"id":{"type":"string","description":"The background command's id, such as bash_1"},
"wait":{"type":"integer","description":"Milliseconds to wait for the command to end; without, returns at once"}},
"required":["id"]}`

const killBashSchema = `{"type":"object","properties":{
"id":{"type":"string","description":"The background command's id, such as bash_1"}},
"required":["id"]}`

// jobInput takes the id also under the names that it has elsewhere.
type jobInput struct {
	ID      string `json:"id"`
	BashID  string `json:"bash_id"`
	ShellID string `json:"shell_id"`
	Wait    number `json:"wait"`
}

func (s *Set) jobOf(c Call) (*job, time.Duration, error) {
	var in jobInput
	if err := decode(c, &in); err != nil {
		return nil, 0, err
	}
	id := cmp.Or(in.ID, in.BashID, in.ShellID)
	if id == "" {
		return nil, 0, errors.New("id is missing")
	}
	if j := s.jobByID(id); j != nil {
		return j, min(time.Duration(in.Wait)*time.Millisecond, s.lim.MaxTimeout), nil
	}
	var ids []string
	for _, l := range s.live() {
		ids = append(ids, l.ID)
	}
	known := "none is running"
	if len(ids) > 0 {
		known = "running are " + strings.Join(ids, ", ")
	}
	return nil, 0, fmt.Errorf("there is no background command %q (%s); those of an earlier process ended with it", id, known)
}

func (s *Set) bashOutput(ctx context.Context, c Call) Result {
	j, wait, err := s.jobOf(c)
	if err != nil {
		return inputError("BashOutput", err)
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-j.gone:
		case <-timer.C:
		case <-ctx.Done():
		case <-s.done:
		}
	}
	return s.report(j)
}

// report is a job's state and its news.
func (s *Set) report(j *job) Result {
	// In this order: what is printed between the two is shown next time, never lost.
	gone := j.isGone()
	news := strings.TrimRight(j.out.news(s.lim.OutputChars, gone), "\n")
	state := fmt.Sprintf("%s is running, since %v", j.id, s.o.Now().Sub(j.started).Round(time.Second))
	rec := record{Job: j.id}
	select {
	case <-j.settled:
		how, code, signal := exitOf(j)
		rec.ExitCode, rec.Signal = code, signal
		state = j.id + " has ended: " + s.ending(j, how)
		if !gone {
			state = j.id + ": its shell has ended (" + cmp.Or(how, "exit code 0") + "), processes it started are running"
		}
	default:
	}
	if news == "" {
		news = "(nothing new)"
	}
	return TextResult(state + "\n" + news).with(rec)
}

func (s *Set) ending(j *job, how string) string {
	switch {
	case j.tooMuch.Load():
		return fmt.Sprintf("ended because it printed more than %s", size(s.lim.OutputBytes))
	case j.killed.Load():
		return "it was killed"
	}
	return cmp.Or(how, "exit code 0")
}

func (s *Set) killBash(_ context.Context, c Call) Result {
	j, _, err := s.jobOf(c)
	if err != nil {
		return inputError("KillBash", err)
	}
	if err := j.end(); err != nil {
		return ErrorResult(fmt.Sprintf("%s: %v; it may need other rights to be ended", j.id, err))
	}
	return s.report(j)
}
