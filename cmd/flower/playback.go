package main

// Recording what a model is asked and answers (--record), and playing it back in the
// model's place (--playback).

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/playback"
	"github.com/flowerlua/flower/engine/workbench"
)

// recording is what a source has to do with recordings. The zero value has nothing.
type recording struct {
	recorder   *playback.Recorder                              // the model, where it is recorded
	unrecorded model.Model                                     // the one behind it
	player     *playback.Player                                // the model, where it is a recording
	sleep      func(ctx context.Context, d time.Duration) bool // between attempts; nil: as usual
}

func (r *recording) close() error {
	switch {
	case r.recorder != nil:
		return r.recorder.Close()
	case r.player != nil:
		return r.player.Close()
	}
	return nil
}

// realm keeps apart what must not continue each other.
func (s *source) realm() string {
	switch {
	case s.player != nil:
		return "playback"
	case s.rehearsal != nil:
		return "rehearsal"
	}
	return ""
}

// checkPlayback reports what cannot go together with recording or playing back.
func (c *cli) checkPlayback() error {
	flag := "--record"
	if c.Playback != "" {
		flag = "--playback"
	}
	switch {
	case c.Record == "" && c.Playback == "":
		return nil
	case c.Record != "" && c.Playback != "":
		return wrongUse("--record and --playback exclude each other: what is played back is recorded already")
	case c.Playback != "" && c.Rehearse != "":
		return wrongUse("--playback and --rehearse exclude each other: either the recording or the rehearsal answers")
	case c.Harness == "claude":
		return wrongUse("%s is for the native harness: what the Claude Code CLI asks differs from run to run; leave --harness claude out", flag)
	case c.Playback != "" && c.From != "":
		return wrongUse("--playback and --from exclude each other: a recording is played from its beginning")
	case c.Playback != "" && c.Once.Resume != "":
		return wrongUse("--playback and --resume exclude each other: a recording is played from its beginning")
	}
	if info, err := os.Stat(c.Playback); c.Playback != "" && (os.IsNotExist(err) || err == nil && !info.IsDir()) {
		return wrongUse("--playback: there is no folder %s", c.Playback)
	}
	if info, err := os.Stat(c.Record); c.Record != "" && err == nil && !info.IsDir() {
		return wrongUse("--record: %s is not a folder", c.Record)
	}
	return nil
}

// recordingPlaces are the texts in requests that another machine, or another folder,
// has otherwise.
func recordingPlaces(workspace, runDir string) map[string]string {
	return map[string]string{
		"workspace": workspace, "run_dir": runDir, "workbench": workbench.Home(workspace, true),
		"platform": fmt.Sprintf("%s (%s)", runtime.GOOS, runtime.GOARCH),
	}
}

// label names what is run. Arguments may hold secrets, so that only a hash of them
// tells one call of a script from another.
func (c *cli) label(args []string) string {
	switch {
	case c.Run.Script == "" && len(c.Once.Prompt) > 0:
		return "once"
	case c.Run.Script == "":
		return "starter"
	case len(args) == 0:
		return filepath.Clean(c.Run.Script)
	}
	return fmt.Sprintf("%s (arguments %.4x)", filepath.Clean(c.Run.Script), sha256.Sum256([]byte(strings.Join(args, "\x00"))))
}

// settings are what a playback needs to ask for the same model.
func (s *source) settings() map[string]string {
	all := map[string]string{"model": s.name, "subagent_model": s.sub, "effort": s.effort}
	for alias, name := range s.aliases {
		all["alias."+alias] = name
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// record puts a recorder between the harness and the model.
func (c *cli) record(b *bed, workspace, runDir string) error {
	if c.Record == "" {
		return nil
	}
	src := b.src
	recorder, err := playback.Record(c.Record, src.model, &playback.RecordOptions{
		Label: c.label(c.scriptArgs), Places: recordingPlaces(workspace, runDir), Settings: src.settings(), Fresh: c.Fresh,
		Warn: func(text string) { b.sinks.screen.say("! " + text) },
	})
	if errors.Is(err, playback.ErrNotEmpty) {
		return wrongUse("--record: %v", err)
	}
	if err != nil {
		return err
	}
	src.unrecorded, src.model, src.recorder = src.model, recorder, recorder
	src.note += ", recorded in " + shownPath(c.Record)
	return nil
}

// telling passes events on, and says of a step that is restored that a new recording
// does not have it. What ends a playback is told at its end, and not before as well.
func (b *bed) telling(s *sinks) event.Sink {
	if p := b.src.player; p != nil {
		s.hide = func(e event.Event) bool {
			trouble := p.Err()
			return e.Kind == event.Error && trouble != nil && strings.Contains(e.Text, trouble.Error())
		}
	}
	if b.src.recorder == nil || b.src.recorder.Continues() {
		return s
	}
	return event.SinkFunc(func(e event.Event) {
		s.Emit(e)
		if e.Kind == event.Step && e.Payload["restored"] == true {
			b.sinks.screen.say("! step " + e.Step + " is restored, so it is not in the recording: record a run that begins anew (--fresh)")
		}
	})
}

// playedBack is a recording in the place of a model.
func (c *cli) playedBack(workspace, runDir string) (*source, error) {
	player, err := playback.Open(c.Playback, &playback.Options{Places: recordingPlaces(workspace, runDir)})
	if errors.Is(err, playback.ErrNoRecording) {
		return nil, wrongUse("--playback: %v", err)
	}
	if err != nil {
		return nil, err
	}
	set := player.Settings()
	src := &source{model: player, name: cmp.Or(c.Model, set["model"]), aliases: map[string]string{},
		sub: set["subagent_model"], effort: set["effort"], note: "playback", close: func() {},
		recording: recording{player: player, sleep: playback.NoWait}}
	for key, name := range set {
		if alias, ok := strings.CutPrefix(key, "alias."); ok {
			src.aliases[alias] = name
		}
	}
	return src, nil
}

// own are the files and folders that this process writes beside the run directory.
func (c *cli) own() []string {
	var all []string
	for _, path := range []string{c.Record, c.Events} {
		if path == "" || path == "-" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil { // else there is no current folder, and nothing below it
			all = append(all, abs)
		}
	}
	return all
}

// aside is the source for questions from the side, which are no part of the run.
func (s *source) aside() (*source, error) {
	if s.player != nil {
		return nil, errors.New("a playback answers what was recorded, and nothing else")
	}
	if s.recorder == nil {
		return s, nil
	}
	out := *s
	out.model = s.unrecorded
	return &out, nil
}

// ended settles what a run has been recorded to or played from: done says that it
// came to its end, err how the command would end otherwise.
func (b *bed) ended(ctx context.Context, done bool, err error) error {
	switch src := b.src; {
	case src.recorder != nil && done:
		return errors.Join(err, src.recorder.Finish())
	case src.player != nil && ctx.Err() == nil:
		if trouble := src.player.Err(); trouble != nil {
			return trouble
		}
		if rest := src.player.Rest(); rest.Exchanges > 0 {
			b.sinks.screen.last(fmt.Sprintf("! not asked for: %s (%s)", counted(rest.Exchanges, "recorded exchange"), strings.Join(rest.Where, "; ")))
		}
	}
	return err
}
