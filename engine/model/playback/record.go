package playback

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/flowerlua/flower/engine/model"
)

// Recorder is a model whose exchanges are written down. It is safe for concurrent
// use. What cannot be written does not disturb the run: the first such failure is
// told by RecordOptions.Warn and by Close, and nothing is recorded after it.
type Recorder struct {
	dir   string
	inner model.Model
	o     RecordOptions
	lock  *flock.Flock

	process int // of this recorder, counted from 1

	mu     sync.Mutex
	index  index
	talks  map[who]*talk
	said   map[replyID]bool // replies that were recorded
	last   int              // the newest conversation
	failed error
	closed bool
}

// who is who asks, within one run.
type who struct{ session, agent, call string }

func askedBy(m model.Meta) who { return who{m.Session, m.Agent, m.Call} }

// replyID stands for the id of a reply.
type replyID [8]byte

func hashID(id string) (h replyID) {
	sum := sha256.Sum256([]byte(id))
	copy(h[:], sum[:])
	return h
}

// talk is a conversation that is being recorded. It holds no texts: a request is
// compared with the one before by hashes.
type talk struct {
	mu       sync.Mutex
	header   header
	path     string
	n        int // exchanges
	head     hash
	messages []hash
	// headKnown: head is that of the newest exchange. A process that continues a file
	// writes it again.
	headKnown bool
}

func newRecorder(dir string, m model.Model, o RecordOptions) (*Recorder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	r := &Recorder{dir: dir, inner: m, o: o, talks: map[who]*talk{}, said: map[replyID]bool{}}
	if err := r.open(); err != nil {
		if r.lock != nil {
			_ = r.lock.Close() // the error is the one that counts
		}
		return nil, fmt.Errorf("record into %s: %w", dir, err)
	}
	return r, nil
}

func (r *Recorder) open() error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.dir, indexName)); errors.Is(err, fs.ErrNotExist) {
		if err := r.checkEmpty(); err != nil {
			return err // before a file is made in a folder that is not ours
		}
	}
	r.lock = flock.New(filepath.Join(r.dir, lockName), flock.SetPermissions(0o600))
	mine, err := r.lock.TryLock()
	if err != nil {
		return err
	}
	if !mine {
		return ErrInUse
	}
	if err := r.goOn(); err != nil {
		return err
	}
	r.index.Processes = append(r.index.Processes, process{Started: r.o.Now(), Places: r.o.Places})
	r.process = len(r.index.Processes)
	return r.index.write(r.dir)
}

// goOn reads what the folder holds already, and refuses what this run does not
// continue.
func (r *Recorder) goOn() error {
	old, err := readIndex(r.dir)
	if err != nil {
		return err
	}
	names, err := conversationFiles(r.dir)
	if err != nil {
		return err
	}
	if old == nil || len(names) == 0 {
		r.index = index{Format: format, Label: r.o.Label, Settings: r.o.Settings, Models: map[string]modelInfo{}}
		return r.checkEmpty()
	}
	last := process{}
	if n := len(old.Processes); n > 0 {
		last = old.Processes[n-1]
	}
	switch {
	case last.Finished:
		return fmt.Errorf("%w: it holds the recording of a run that came to its end (%s); choose another folder, or remove this one", ErrNotEmpty, old.about())
	case old.Label != r.o.Label || !maps.Equal(last.Places, r.o.Places):
		return fmt.Errorf("%w: it holds the recording of another run (%s), which only the same command in the same folders continues; choose another folder", ErrNotEmpty, old.about())
	case r.o.Fresh:
		return fmt.Errorf("%w: it holds a recording that was cut off (%s), and a run that begins anew does not continue it; choose another folder, or remove this one", ErrNotEmpty, old.about())
	}
	r.index = *old
	if r.index.Models == nil {
		r.index.Models = map[string]modelInfo{}
	}
	for _, name := range names {
		if err := r.readTalk(filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// about names a recording by what was run, and when.
func (x *index) about() string {
	text := x.Label
	if text == "" {
		text = "without a name"
	}
	if len(x.Processes) > 0 {
		text += ", " + x.Processes[0].Started.Format("2006-01-02 15:04")
	}
	return text
}

func (r *Recorder) checkEmpty() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := strings.TrimPrefix(e.Name(), "."); e.Name() != lockName && !strings.HasPrefix(name, indexName) {
			return fmt.Errorf("%w: %s is in it, and it holds no recording; choose an empty or a new folder", ErrNotEmpty, e.Name())
		}
	}
	return nil
}

// readTalk takes up a conversation of an earlier process, and removes from its file
// what was cut off.
func (r *Recorder) readTalk(path string) error {
	t := &talk{path: path}
	whole, err := eachLine(path, func(line []byte, n int, _ int64) error {
		if n == 1 {
			if err := json.Unmarshal(line, &t.header); err != nil {
				return damaged(path, n, err)
			}
			return nil
		}
		var x exchange
		if err := json.Unmarshal(line, &x); err != nil {
			return damaged(path, n, err)
		}
		if x.Keep < 0 || x.Keep > len(t.messages) {
			return damaged(path, n, errGap)
		}
		if err := t.add(&x); err != nil {
			return damaged(path, n, err)
		}
		if x.Reply != nil {
			r.said[hashID(x.Reply.ID)] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if whole == 0 {
		return os.Remove(path)
	}
	if err := os.Truncate(path, whole); err != nil {
		return err
	}
	r.last = max(r.last, t.header.Conversation)
	r.talks[who{t.header.Session, t.header.Agent, t.header.Call}] = t
	return nil
}

// add takes note of an exchange that an earlier process wrote.
func (t *talk) add(x *exchange) error {
	t.n++
	t.messages = t.messages[:x.Keep]
	for _, raw := range x.Messages {
		var m struct {
			Role    string
			Content []json.RawMessage
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		for i := range m.Content {
			m.Content[i] = decodable(m.Content[i])
		}
		t.messages = append(t.messages, hashMessage(model.Message{Role: m.Role, Content: m.Content}))
	}
	return nil
}

// Continues reports whether the recording goes on with that of an earlier process.
func (r *Recorder) Continues() bool { return r.process > 1 }

// Info tells what the recorded model knows, and writes it down.
func (r *Recorder) Info(ctx context.Context, name string) (model.Info, error) {
	info, err := r.inner.Info(ctx, name)
	if err == nil {
		r.noteModel(name, modelInfo{info.Window, info.MaxOutput})
	}
	return info, err
}

func (r *Recorder) noteModel(name string, info modelInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, known := r.index.Models[name]; known && old == info || r.closed || r.failed != nil {
		return
	}
	r.index.Models[name] = info
	if err := r.index.write(r.dir); err != nil {
		r.fail(err)
	}
}

// Finish notes that the run came to its end: its recording is not continued.
func (r *Recorder) Finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil || r.closed {
		return nil // Close has it
	}
	r.index.Processes[len(r.index.Processes)-1].Finished = true
	return r.index.write(r.dir)
}

// Close ends the recording. The error says that it is not whole. It may be called
// twice; requests after it are passed on and not recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.lock.Close()
	if r.failed != nil {
		return fmt.Errorf("the recording in %s is not whole: %w", r.dir, r.failed)
	}
	return err
}

// fail ends the recording. The caller holds mu.
func (r *Recorder) fail(err error) {
	if r.failed != nil || err == nil {
		return
	}
	r.failed = err
	r.o.Warn(fmt.Sprintf("the recording in %s ends here, because it cannot be written: %v", r.dir, err))
}

// talk finds or begins the conversation of a request; nil: nothing is recorded.
func (r *Recorder) talk(req *model.Request) *talk {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed != nil {
		return nil
	}
	key := askedBy(req.Meta)
	if t := r.talks[key]; t != nil {
		return t
	}
	m := req.Meta
	r.last++
	t := &talk{header: header{Conversation: r.last, Process: r.process, Step: m.Step, Role: m.Role,
		Session: m.Session, Agent: m.Agent, Call: m.Call, Dir: m.Dir}}
	if parent := r.parent(m); parent != nil {
		t.header.Parent = parent.header.Conversation
	}
	t.path = filepath.Join(r.dir, t.header.fileName())
	if req.Previous != "" && !r.said[hashID(req.Previous)] {
		r.o.Warn(fmt.Sprintf("step %s continues a session from before this recording, which a playback does not have: record a run that begins anew", m.Step))
	}
	line, err := encode(t.header)
	if err == nil {
		err = appendLine(t.path, line)
	}
	if err != nil {
		r.fail(err)
		return nil
	}
	r.talks[key] = t
	return t
}

// parent is the conversation that a subagent or a request beside one belongs to.
func (r *Recorder) parent(m model.Meta) *talk {
	switch {
	case m.Call != "":
		return r.talks[who{m.Session, m.Agent, ""}]
	case m.Agent != "":
		return r.talks[who{m.Session, "", ""}]
	}
	return nil
}

// appendLine writes a line in one piece: a process that is killed leaves all of it, or
// an end that readers pass over.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// write adds an exchange to its conversation.
func (r *Recorder) write(t *talk, req model.Request, x exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, messages := hashHead(req), hashMessages(req.Messages)
	for x.Keep < min(len(messages), len(t.messages)) && messages[x.Keep] == t.messages[x.Keep] {
		x.Keep++
	}
	x.Messages = []json.RawMessage{}
	for _, m := range req.Messages[x.Keep:] {
		x.Messages = append(x.Messages, messageJSON(m))
	}
	if head != t.head || !t.headKnown {
		x.Head = headJSON(req)
	}
	x.Exchange, x.Process, x.Step, x.Turn = t.n+1, r.process, req.Meta.Step, req.Meta.Turn
	line, err := encode(x)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed != nil {
		return
	}
	if err == nil {
		err = appendLine(t.path, line)
	}
	if err != nil {
		r.fail(err)
		return
	}
	t.n, t.head, t.headKnown, t.messages = x.Exchange, head, true, messages
	if x.Reply != nil {
		r.said[hashID(x.Reply.ID)] = true
	}
	if t.header.Call != "" {
		delete(r.talks, who{t.header.Session, t.header.Agent, t.header.Call}) // it asks once
	}
}

// headJSON is a request without its messages, as it is sent but for white space.
func headJSON(req model.Request) json.RawMessage {
	req.Messages = nil
	body := bytes.TrimSuffix(req.Body(true), []byte(`,"messages":[]}`))
	return compact(append(slices.Clip(body), '}'))
}

// messageJSON is a message as it is sent but for white space.
func messageJSON(m model.Message) json.RawMessage {
	content := make([]json.RawMessage, len(m.Content))
	for i, raw := range m.Content {
		content[i] = encodable(raw)
	}
	line, err := encode(struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}{m.Role, content})
	if err != nil {
		return json.RawMessage("null") // not with valid pieces
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return encodable(raw)
	}
	return b.Bytes()
}
