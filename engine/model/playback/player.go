package playback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/flowerlua/flower/engine/model"
)

// Player is a model that answers from a recording. It is safe for concurrent use. It
// holds where exchanges are, not what is in them: of each conversation that is under
// way the newest request is in memory, nothing else.
type Player struct {
	dir   string
	o     Options
	index *index
	talks []*script // in the order in which they began

	mu      sync.Mutex
	live    map[who]*script
	stopped *Error
}

// script is a recorded conversation that is to be played.
type script struct {
	header header
	name   string // of the file
	moves  []move
	taken  bool
	parent *script // the one it belongs to; nil: none

	names  renamer
	played int // moves; under the player's mu

	mu      sync.Mutex
	next    int             // the move that comes
	then    recordedRequest // of the newest move that was read, which is the one below
	reading int
	seen    *memory
}

// move is an exchange in a file.
type move struct {
	line    int
	at      int64
	size    int
	process int
	turn    int
	// skip: it is not played, because its end was the caller's (stopped) or its answer
	// was lost.
	skip, stopped bool
}

func openPlayer(dir string, o Options) (*Player, error) {
	p := &Player{dir: dir, o: o, live: map[who]*script{}}
	if err := p.open(); err != nil {
		return nil, fmt.Errorf("play back %s: %w", dir, err)
	}
	return p, nil
}

func (p *Player) open() error {
	info, err := os.Stat(p.dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoRecording, err)
	case !info.IsDir():
		return fmt.Errorf("%w: it is not a folder", ErrNoRecording)
	}
	if p.index, err = readIndex(p.dir); err != nil {
		return err
	}
	if p.index == nil {
		return fmt.Errorf("%w: %s is not in it", ErrNoRecording, indexName)
	}
	names, err := conversationFiles(p.dir)
	if err != nil {
		return err
	}
	moves := 0
	for _, name := range names {
		s, err := readScript(filepath.Join(p.dir, name), p.index.finished())
		if err != nil {
			return err
		}
		s.name = name
		moves += len(s.moves)
		p.talks = append(p.talks, s)
	}
	if moves == 0 {
		return fmt.Errorf("%w: it holds no exchange", ErrNoRecording)
	}
	return nil
}

// readScript notes where the exchanges of a conversation are. Of a run that came to its
// end every line is whole.
func readScript(path string, finished bool) (*script, error) {
	s := &script{seen: newMemory()}
	lines := 0
	whole, err := eachLine(path, func(line []byte, n int, at int64) error {
		lines = n
		if n == 1 {
			if err := json.Unmarshal(line, &s.header); err != nil {
				return damaged(path, n, err)
			}
			return nil
		}
		var x exchange
		if err := json.Unmarshal(line, &x); err != nil {
			return damaged(path, n, err)
		}
		m := move{line: n, at: at, size: len(line), process: x.Process, turn: x.Turn, skip: x.stopped(), stopped: x.stopped()}
		s.supersede(m)
		s.moves = append(s.moves, m)
		return nil
	})
	if err != nil || !finished {
		return s, err
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > whole {
		err = damaged(path, lines+1, errors.New("it is cut off, though the run came to its end"))
	}
	return s, err
}

// supersede leaves out an answer that did not outlive its process: the one after it
// asked for the same turn again.
func (s *script) supersede(m move) {
	for i := len(s.moves) - 1; i >= 0; i-- {
		if old := &s.moves[i]; !old.skip {
			old.skip = old.process < m.process && m.turn <= old.turn
			return
		}
	}
}

// Label is what was recorded, as RecordOptions named it.
func (p *Player) Label() string { return p.index.Label }

// Settings are those of RecordOptions. The caller must not change them.
func (p *Player) Settings() map[string]string { return p.index.Settings }

// Info tells what was known of a model when it was recorded, at no price. Of a model
// that was not asked for then nothing is known but that it is free.
func (p *Player) Info(_ context.Context, name string) (model.Info, error) {
	known := p.index.Models[name]
	return model.Info{Name: name, Window: known.Window, MaxOutput: known.MaxOutput, Price: &model.Price{}}, nil
}

// Err is what ended the playback, an *Error; nil while nothing did.
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil {
		return nil
	}
	return p.stopped
}

// Rest is what has not been asked for so far.
func (p *Player) Rest() Rest {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r Rest
	for _, s := range p.talks {
		left, first := 0, 0
		for i := s.played; i < len(s.moves); i++ {
			if !s.moves[i].skip {
				left++
			}
			if left == 1 && first == 0 {
				first = s.moves[i].turn
			}
		}
		if left > 0 && len(r.Where) < maxPaths {
			r.Where = append(r.Where, fmt.Sprintf("%s, from turn %d on", s.header.asker(), first))
		}
		r.Exchanges += left
	}
	return r
}

// Close ends the playback. It may be called twice.
func (p *Player) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = map[who]*script{}
	return nil
}

// Stream answers with what was recorded.
func (p *Player) Stream(ctx context.Context, req model.Request) (model.Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s, trouble := p.find(req)
	if trouble != nil {
		return nil, p.stop(trouble)
	}
	x, trouble := p.advance(s, req)
	if trouble != nil {
		return nil, p.stop(trouble)
	}
	return x.play(s.names)
}

// endsWithParent: a conversation has come to where its process was cut off, and so
// has the one that it belongs to.
func (p *Player) endsWithParent(s *script) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.parent == nil {
		return false
	}
	if m, ok := s.nextMove(); ok && m.process <= s.processBefore(s.played) {
		return false
	}
	return p.atCut(s.parent)
}

// atCut: the next exchange of a conversation is one of a later process, which goes on
// where this one was cut off. The caller holds mu.
func (p *Player) atCut(s *script) bool {
	last := s.processBefore(s.played)
	if m, ok := s.nextMove(); ok {
		return m.process > last
	}
	if s.parent != nil {
		return p.atCut(s.parent)
	}
	return last < len(p.index.Processes)
}

// nextMove is the exchange that is played next. The caller holds the player's mu.
func (s *script) nextMove() (move, bool) {
	for _, m := range s.moves[s.played:] {
		if !m.skip {
			return m, true
		}
	}
	return move{}, false
}

// stop ends the playback, and gives what ended it first. An agent alone that was cut
// off in the recorded run ends by itself, as it did there.
func (p *Player) stop(e *Error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil && e.Kind == Cut {
		return e
	}
	if p.stopped == nil {
		p.stopped = e
	}
	return p.stopped
}

// advance gives a conversation's next exchange, if the request is the recorded one.
func (p *Player) advance(s *script, req model.Request) (*exchange, *Error) {
	m := req.Meta
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.endsWithParent(s) {
		return nil, p.cut(s, m)
	}
	for ; s.next < len(s.moves); s.next++ {
		x, err := p.read(s, s.next)
		if err != nil {
			return nil, p.broken(s, m, err)
		}
		if s.moves[s.next].skip {
			continue
		}
		found, err := s.then.compare(req, s.names, s.seen)
		if err != nil {
			return nil, p.broken(s, m, err)
		}
		if len(found) > 0 {
			return nil, p.differs(s, m, found)
		}
		s.next++
		p.mu.Lock()
		s.played = s.next
		p.mu.Unlock()
		if s.next == len(s.moves) {
			s.then, s.seen = recordedRequest{}, newMemory() // nothing is compared with it any more
		}
		return x, nil
	}
	return nil, p.ends(s, m)
}

// read reads the i-th exchange of a conversation, which follows the one read before.
func (p *Player) read(s *script, i int) (*exchange, error) {
	m := s.moves[i]
	f, err := os.Open(filepath.Join(p.dir, s.name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := make([]byte, m.size)
	if _, err := f.ReadAt(line, m.at); err != nil {
		return nil, err
	}
	var x exchange
	if err := json.Unmarshal(line, &x); err != nil {
		return nil, err
	}
	return &x, s.follow(i, &x)
}

// follow puts the request of an exchange together.
func (s *script) follow(i int, x *exchange) error {
	if x.Keep > len(s.then.messages) || x.Keep < 0 || i == 0 && x.Head == nil {
		return errGap
	}
	if x.Head != nil {
		s.then.head, s.seen.headSame = x.Head, false
	}
	s.seen.kept = min(s.seen.kept, x.Keep)
	had := len(s.then.messages)
	s.reading = i
	s.then.messages = append(s.then.messages[:x.Keep:x.Keep], x.Messages...)
	if x.Process > s.processBefore(i) {
		s.cutOff(had)
	}
	return nil
}

// processBefore is the process that the conversation was in before its i-th exchange.
func (s *script) processBefore(i int) int {
	if i == 0 {
		return s.header.Process
	}
	return s.moves[i-1].process
}

// cutOff notes what a continuing process told in its first request. Where the one
// before was stopped within an answer, of which it kept a part, that part and what was
// told stand behind the had messages of the request that was stopped.
func (s *script) cutOff(had int) {
	if s.then.cuts == nil {
		s.then.cuts = map[int]cut{}
	}
	switch n := len(s.then.messages); {
	case n == had+2 && had > 0 && s.stoppedLast():
		s.then.cuts[had], s.then.cuts[had+1] = half, half
	case n > 0:
		s.then.cuts[n-1] = told
	}
}

// stoppedLast: the exchange before the newest was ended by its caller.
func (s *script) stoppedLast() bool { return s.reading > 0 && s.moves[s.reading-1].stopped }
