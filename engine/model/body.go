package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Body is the request as it goes over the wire: the pieces in a fixed order,
// each raw piece byte for byte. Two requests that share a prefix of pieces
// share a prefix of bytes within system, tools and messages, which is what a
// provider's cache is keyed by. stream adds "stream":true.
func (r Request) Body(stream bool) []byte {
	var b bytes.Buffer
	b.Grow(r.size())
	b.WriteString(`{"model":`)
	b.Write(quote(r.Model))
	b.WriteString(`,"max_tokens":`)
	b.WriteString(strconv.Itoa(r.MaxTokens))
	if stream {
		b.WriteString(`,"stream":true`)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		b.WriteByte(',')
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(r.Extra[name])
	}
	if len(r.Tools) > 0 {
		b.WriteString(`,"tools":`)
		writeList(&b, r.Tools)
	}
	if len(r.System) > 0 {
		b.WriteString(`,"system":`)
		writeList(&b, r.System)
	}
	b.WriteString(`,"messages":[`)
	for i, m := range r.Messages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"role":`)
		b.Write(quote(m.Role))
		b.WriteString(`,"content":`)
		writeList(&b, m.Content)
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// size is a little more than Body needs, so that its buffer grows once.
func (r Request) size() int {
	n := 256
	for _, list := range [][]json.RawMessage{r.System, r.Tools} {
		for _, raw := range list {
			n += len(raw) + 1
		}
	}
	for _, m := range r.Messages {
		n += 40
		for _, raw := range m.Content {
			n += len(raw) + 1
		}
	}
	return n
}

func writeList(b *bytes.Buffer, list []json.RawMessage) {
	b.WriteByte('[')
	for i, raw := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(raw)
	}
	b.WriteByte(']')
}

func quote(s string) []byte {
	q, _ := json.Marshal(s) // a string always marshals
	return q
}
