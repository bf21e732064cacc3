// Package playback records what is asked of a model and what it answers, and plays
// it back in the model's place: without a key, without a network, at no cost.
//
// A recording is a folder. A Recorder stands in front of a model and writes every
// exchange into it; a Player answers from it. Both are a model.Model.
//
//	recorder, err := playback.Record("rec", anthropic.New(&anthropic.Options{Key: key}), nil)
//	h := native.New(native.Config{Model: recorder})
//	… run, then
//	err = errors.Join(recorder.Finish(), recorder.Close())
//
//	player, err := playback.Open("rec", nil)
//	h := native.New(native.Config{Model: player, Sleep: playback.NoWait})
//	rt, err := engine.New(engine.Config{Harness: h, Sleep: playback.NoWait, Apart: true, …})
//	… run, then look at player.Err() and player.Rest()
//
// # What answers which request
//
// Requests are told apart by who asks (model.Request.Meta), in conversations: the
// main thread of a session is one, each subagent of it is one, and a request beside
// them (a search) is one of its own. Ids of sessions are new in every run, so a
// conversation that begins is looked for in the recording by what stays:
//
//   - a main thread by the label of its step and the name of its agent;
//   - a subagent by the conversation it belongs to, and its name;
//   - a request beside a conversation by that conversation.
//
// Where several fit, as with subagents side by side, the one whose first messages
// are the same is taken, the one of the same tool call first, else the first that was
// recorded. Within a conversation exchanges follow each other as they were recorded,
// errors and repetitions included.
//
// # What has to be the same
//
// Everything in the request, but for
//
//   - the text of tool results: tools are run, and may say something else;
//   - the ids of tool calls, as long as they pair in the same way;
//   - places (RecordOptions.Places) and the folder the agent works in: where the
//     recording has its own, the present ones are put in, in its answers too;
//   - times and dates, addresses in memory, numbers of processes, and names and ids
//     made at random, as the output of commands has them that gets into prompts;
//   - max_tokens, which may have been lower: a budget shortens answers, and a
//     playback costs nothing;
//   - where the recorded run was cut off and continued: what the continuing process
//     told the agent about that.
//
// The first request that is not the same fails with an *Error, and so does every
// later one: a run that is not the recorded one is over. A request that the recording
// has no answer to is such an error too, unless the recorded run was cut off there:
// then the subagent ends as it did (Cut), and its dispatcher goes on.
package playback

import (
	"context"
	"errors"
	"time"

	"github.com/flowerlua/flower/engine/model"
)

// Errors of Record and Open.
var (
	// ErrInUse: another process records into the folder.
	ErrInUse = errors.New("another process records into it")
	// ErrNotEmpty: the folder holds what a new recording must not mix with.
	ErrNotEmpty = errors.New("the folder is not empty")
	// ErrNoRecording: the folder holds no recording.
	ErrNoRecording = errors.New("no recording")
	// ErrDamaged: a file of the recording cannot be read.
	ErrDamaged = errors.New("the recording is damaged")
)

// RecordOptions say what a playback needs to know. The zero value is fine for a
// program that plays back what it recorded itself, in the same folder.
type RecordOptions struct {
	// Label names what is run, such as the script; empty: nothing is said of it.
	Label string
	// Places are texts that differ from machine to machine and get into requests, by
	// names of the caller's: the workspace's path, say.
	Places map[string]string
	// Settings are kept for Player.Settings. No secrets: they lie open in a file.
	Settings map[string]string
	// Fresh: the run begins anew, so it does not continue a recording that was cut off.
	Fresh bool
	// Warn is told once of each thing that a playback will not be able to repeat, and
	// of a recording that cannot be written any more; nil tells nobody. It is called
	// on the goroutine of a request, and must not use the Recorder.
	Warn func(text string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Record begins a recording of m in the folder dir, which is made if missing. A
// folder that holds a recording of the same Label and Places whose run did not come
// to its end is continued; anything else in it is ErrNotEmpty, another recorder at
// work ErrInUse. The caller closes the Recorder after the last request.
func Record(dir string, m model.Model, o *RecordOptions) (*Recorder, error) {
	if o == nil {
		o = &RecordOptions{}
	}
	return newRecorder(dir, m, *o)
}

var (
	_ model.Model = (*Recorder)(nil)
	_ model.Model = (*Player)(nil)
)

// Options configure a Player.
type Options struct {
	// Places are those of RecordOptions as they are now: they replace the recorded
	// ones of the same name. A place that is not named stays as it was recorded.
	Places map[string]string
}

// Open reads a recording to play it back, from its beginning. It is not changed, so
// any number of players may use it at a time. ErrNoRecording, ErrDamaged; a last line
// that was cut off while it was written is passed over. The caller closes the Player.
func Open(dir string, o *Options) (*Player, error) {
	if o == nil {
		o = &Options{}
	}
	return openPlayer(dir, *o)
}

// Rest is what of a recording was not asked for.
type Rest struct {
	Exchanges int
	// Where names the conversations they belong to, a few of them: step, agent and
	// the turn from which on.
	Where []string
}

// Kind says what an Error is about.
type Kind string

// The kinds of errors of a playback.
const (
	Differs Kind = "differs" // the request is not the recorded one
	Ends    Kind = "ends"    // the recorded conversation has no further exchange
	Missing Kind = "missing" // the recording has no such conversation
	Broken  Kind = "broken"  // the recording could not be read
	// Cut: the recorded run was cut off while a subagent worked, and its dispatcher went
	// on. The playback does, too: it is the one error that ends no more than the agent.
	Cut Kind = "cut"
)

// Error says why a playback cannot go on. It is final (see package failure): nobody
// repeats the request or tries anything else.
type Error struct {
	Kind  Kind
	Dir   string // the recording
	File  string // within it; empty where there is none
	Line  int
	Step  string
	Role  string
	Agent string // the subagent's id; empty on the main thread
	Turn  int
	// Paths are where in the request it differs, such as messages[0].content[0].text;
	// a few of them.
	Paths []string
	// Diff compares the first of Paths as it was recorded with what it is now.
	Diff string

	text string
}

// Error tells it in several lines: who asked, what is wrong, the difference, and what
// to do.
func (e *Error) Error() string { return e.text }

// Final is true.
func (e *Error) Final() bool { return true }

// NoWait takes the place of waits between attempts, so that a playback repeats an
// error and what follows it without the time in between. It reports whether ctx
// still holds.
func NoWait(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }
