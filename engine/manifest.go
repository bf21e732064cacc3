package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flowerlua/flower/internal/atomicfile"
)

// manifest is manifest.json: a JSON array, a row for every attempt of a step,
// kept across processes.
type manifest struct {
	path string
	now  func() time.Time
}

func newManifest(runDir string, now func() time.Time) *manifest {
	return &manifest{path: filepath.Join(runDir, "manifest.json"), now: now}
}

// write replaces the rows of one run and keeps all others as they are, whoever
// wrote them. A file that is not a manifest is moved aside, which notice tells.
func (m *manifest) write(run string, rows []Result) (notice string, err error) {
	err = atomicfile.Update(m.path, 0o644, func(old []byte) ([]byte, error) {
		kept, err := otherRows(old, run)
		if err != nil {
			aside, moveErr := moveAside(m.path, old, m.now())
			if moveErr != nil {
				return nil, moveErr
			}
			notice = fmt.Sprintf("%s was not a manifest (%v); it is now %s and a new one was begun", m.path, err, aside)
		}
		return encodeRows(kept, rows)
	})
	return notice, err
}

// otherRows are the rows of all runs but one.
func otherRows(old []byte, run string) ([]json.RawMessage, error) {
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
		if row.Run != run {
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
	aside := fmt.Sprintf("%s.broken-%s", path, now.Format("20060102-150405.000"))
	return aside, atomicfile.Write(aside, old, 0o644)
}
