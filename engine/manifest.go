package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowerlua/flower/internal/atomicfile"
)

// manifest is manifest.json: a JSON array, a row for every attempt of a step,
// kept across processes. Rows that many runs of one process bring at the same time
// are written together.
type manifest struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	written *sync.Cond
	pending map[string]func() []Result // by run: what the next write brings
	writing bool
	begun   int // writes
	ended   int
	notice  string // of the newest write
	err     error
}

func newManifest(runDir string, now func() time.Time) *manifest {
	m := &manifest{path: filepath.Join(runDir, "manifest.json"), now: now, pending: map[string]func() []Result{}}
	m.written = sync.NewCond(&m.mu)
	return m
}

// write replaces the rows of one run, as they are when they are written, and keeps
// all others as they are, whoever wrote them. It returns when the rows are on disk. A file that is not a manifest
// is moved aside, which notice tells one of the callers.
func (m *manifest) write(run string, rows func() []Result) (notice string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[run] = rows
	mine := m.begun + 1 // the write that brings them
	for m.ended < mine {
		if m.writing {
			m.written.Wait()
			continue
		}
		m.flush()
	}
	notice, m.notice = m.notice, ""
	return notice, m.err
}

// flush writes what is pending; called with the lock held, which it gives up
// meanwhile.
func (m *manifest) flush() {
	pending := m.pending
	m.pending = map[string]func() []Result{}
	m.writing = true
	m.begun++
	m.mu.Unlock()
	notice, err := m.replace(pending)
	m.mu.Lock()
	m.writing = false
	m.ended = m.begun
	m.err = err
	if notice != "" {
		m.notice = notice
	}
	m.written.Broadcast()
}

func (m *manifest) replace(pending map[string]func() []Result) (notice string, err error) {
	err = atomicfile.Update(m.path, 0o644, func(old []byte) ([]byte, error) {
		kept, err := otherRows(old, pending)
		if err != nil {
			aside, moveErr := moveAside(m.path, old, m.now())
			if moveErr != nil {
				return nil, moveErr
			}
			notice = fmt.Sprintf("%s was not a manifest; it is now %s and a new one was begun", m.path, aside)
			kept = nil
		}
		var rows []Result
		for _, run := range slices.Sorted(maps.Keys(pending)) {
			rows = append(rows, pending[run]()...)
		}
		return encodeRows(kept, rows)
	})
	return notice, err
}

// otherRows are the rows of all runs but those that are written.
func otherRows(old []byte, written map[string]func() []Result) ([]json.RawMessage, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		return nil, nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(old, &all); err != nil {
		return nil, err
	}
	var kept []json.RawMessage
	for _, raw := range all {
		var row struct {
			Run string `json:"run"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, err
		}
		if _, replaced := written[row.Run]; !replaced {
			kept = append(kept, raw)
		}
	}
	return kept, nil
}

func encodeRows(kept []json.RawMessage, rows []Result) ([]byte, error) {
	for _, r := range rows {
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("manifest row of step %s: %w", r.Step, err)
		}
		kept = append(kept, raw)
	}
	out, err := json.MarshalIndent(kept, "", "  ")
	return append(out, '\n'), err
}

// moveAside keeps the bytes of a broken file beside it, under the time, and
// returns the new path.
func moveAside(path string, old []byte, now time.Time) (string, error) {
	aside := asideName(path, now)
	return aside, atomicfile.Write(aside, old, 0o644)
}

func asideName(path string, now time.Time) string {
	return fmt.Sprintf("%s.broken-%s", path, now.Format("20060102-150405.000"))
}
