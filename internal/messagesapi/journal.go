package messagesapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
)

// journal is the log: the newest exchanges, their bodies while there is room.
type journal struct {
	limitEntries int
	limitBytes   int
	entries      []Exchange
	bytes        int // of the bodies kept
	bodies       int // entries before this index have lost their bodies
}

func (j *journal) add(e Exchange) {
	j.entries = append(j.entries, e)
	j.bytes += len(e.Request.Body)
	for len(j.entries) > j.limitEntries {
		j.bytes -= len(j.entries[0].Request.Body)
		j.entries = slices.Delete(j.entries, 0, 1)
		j.bodies = max(j.bodies-1, 0)
	}
	for ; j.bytes > j.limitBytes && j.bodies < len(j.entries); j.bodies++ {
		r := &j.entries[j.bodies].Request
		j.bytes -= len(r.Body)
		// The parsed pieces point into the body, so they go with it.
		r.Body, r.System, r.Messages, r.Tools = nil, nil, nil, nil
	}
}

func (j *journal) list() []Exchange { return slices.Clone(j.entries) }

// secretHeaders are replaced in what scripts and the log see.
var secretHeaders = []string{"X-Api-Key", "Authorization", "Proxy-Authorization", "Cookie"}

// Mask is what a script and the log see in place of a secret header's value: the
// same for the same value, so that a test can tell which credential came.
func Mask(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "***" + hex.EncodeToString(sum[:4])
}

// maskHeader copies h with its secrets masked.
func maskHeader(h http.Header) http.Header {
	masked := h.Clone()
	for _, name := range secretHeaders {
		for i, v := range masked[name] {
			masked[name][i] = Mask(v)
		}
	}
	return masked
}

// memory is a map that forgets its oldest keys.
type memory[V any] struct {
	values map[string][]V
	order  []string
}

// memoryKeys is how many keys a memory keeps.
const memoryKeys = 8192

// add remembers one more value for key.
func (m *memory[V]) add(key string, v V) {
	if m.values == nil {
		m.values = map[string][]V{}
	}
	if _, known := m.values[key]; !known {
		m.order = append(m.order, key)
		if len(m.order) > memoryKeys {
			delete(m.values, m.order[0])
			m.order = slices.Delete(m.order, 0, 1)
		}
	}
	list := append(m.values[key], v)
	if len(list) > 16 { // one key used for many values: a script with fixed ids
		list = list[1:]
	}
	m.values[key] = list
}

// get returns what is remembered for key, oldest first.
func (m *memory[V]) get(key string) []V { return m.values[key] }
