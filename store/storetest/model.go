package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/transcript"
)

// model is what a store must be like, in the plainest form.
type model struct {
	sessions map[transcript.Key][]transcript.Entry
	values   map[string]modelValue
}

type modelValue struct {
	data string
	rev  uint64
}

func newModel() *model {
	return &model{sessions: map[transcript.Key][]transcript.Entry{}, values: map[string]modelValue{}}
}

// append gives the newest seq and the error that the store must give.
func (m *model) append(key transcript.Key, expect uint64, es []transcript.Entry) (uint64, error) {
	old := m.sessions[key]
	if expect > uint64(len(old)) {
		return 0, transcript.ErrConflict
	}
	seen := map[string]bool{}
	for _, en := range old[:expect] {
		seen[en.UUID] = true
	}
	var fresh []transcript.Entry
	for _, en := range es {
		if en.UUID == "" || !seen[en.UUID] {
			fresh = append(fresh, en)
			seen[en.UUID] = true
		}
	}
	if expect < uint64(len(old)) {
		same := slices.EqualFunc(old[expect:], fresh, func(a, b transcript.Entry) bool { return string(a.Raw) == string(b.Raw) })
		if !same {
			return 0, transcript.ErrConflict
		}
		return uint64(len(old)), nil
	}
	if len(fresh) > 0 {
		m.sessions[key] = append(old[:len(old):len(old)], fresh...)
	}
	return uint64(len(m.sessions[key])), nil
}

func (m *model) fork(src transcript.Key, at string, dst transcript.Key) error {
	es, ok := m.sessions[src]
	if !ok {
		return transcript.ErrNotFound
	}
	if at != "" {
		i := slices.IndexFunc(es, func(en transcript.Entry) bool { return en.UUID == at })
		if i < 0 {
			return transcript.ErrNotFound
		}
		es = es[:i+1]
	}
	if _, ok := m.sessions[dst]; ok {
		return transcript.ErrConflict
	}
	m.sessions[dst] = es[:len(es):len(es)]
	return nil
}

func (m *model) delete(key transcript.Key) {
	for k := range m.sessions {
		if k == key || key.Sub == "" && k.Project == key.Project && k.Session == key.Session {
			delete(m.sessions, k)
		}
	}
}

func (m *model) put(name, data string, rev uint64) (uint64, error) {
	if m.values[name].rev != rev {
		return 0, transcript.ErrConflict
	}
	m.values[name] = modelValue{data, rev + 1}
	return rev + 1, nil
}

// keys are the transcripts below prefix, in order.
func (m *model) keys(prefix transcript.Key) []transcript.Key {
	var out []transcript.Key
	for k := range m.sessions {
		if (prefix.Project == "" || k.Project == prefix.Project) &&
			(prefix.Session == "" || k.Session == prefix.Session) &&
			(prefix.Sub == "" || k.Sub == prefix.Sub) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b transcript.Key) int { return strings.Compare(sortable(a), sortable(b)) })
	return out
}

func sortable(k transcript.Key) string {
	return fmt.Sprintf("%s\x00%s\x00%s", k.Project, k.Session, k.Sub)
}
