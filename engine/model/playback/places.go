package playback

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// renamer puts present places into recorded texts. The zero value changes nothing.
type renamer []rename

type rename struct{ recorded, now string }

// newRenamer pairs places by their names. What is the same in both, or has no
// counterpart, stays.
func newRenamer(recorded, now map[string]string, dirThen, dirNow string) renamer {
	var n renamer
	add := func(recorded, now string) {
		if len(recorded) > 1 && now != "" && recorded != now {
			n = append(n, rename{recorded, now})
		}
	}
	add(dirThen, dirNow)
	for name, text := range recorded {
		if text != dirThen { // the folder an agent works in is known better
			add(text, now[name])
		}
	}
	// The longest first: a folder before the one it lies in.
	slices.SortFunc(n, func(a, b rename) int {
		return cmp.Or(cmp.Compare(len(b.recorded), len(a.recorded)), cmp.Compare(a.recorded, b.recorded))
	})
	return n
}

// text is s with every recorded place replaced, where it stands as a whole: /a/b is
// not found in /a/bc, nor in /x/a/b.
func (n renamer) text(s string) string {
	if !n.touches(s) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		if r, ok := n.at(s, i); ok {
			out.WriteString(r.now)
			i += len(r.recorded)
			continue
		}
		out.WriteByte(s[i])
		i++
	}
	return out.String()
}

func (n renamer) touches(s string) bool {
	return slices.ContainsFunc(n, func(r rename) bool { return strings.Contains(s, r.recorded) })
}

func (n renamer) at(s string, i int) (rename, bool) {
	for _, r := range n {
		if strings.HasPrefix(s[i:], r.recorded) && begins(s, i) && ends(s, i+len(r.recorded)) {
			return r, true
		}
	}
	return rename{}, false
}

// begins: no name goes on at s[i].
func begins(s string, i int) bool {
	return i == 0 || !nameByte(s[i]) && s[i] != '/' || !nameByte(s[i-1]) && s[i-1] != '.' && s[i-1] != '~'
}

// ends: the name before s[i] ends there; a dot may end a sentence, and words in
// another script may follow without a blank.
func ends(s string, i int) bool {
	last := s[i-1]
	if i < len(s) && s[i] == '.' {
		i++
	}
	switch {
	case i == len(s):
		return true
	case s[i] >= 0x80:
		return last < 0x80
	}
	return !nameByte(s[i]) || !nameByte(last)
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// raw is a piece of JSON with the places in its strings replaced, every other byte as
// it is.
func (n renamer) raw(raw json.RawMessage) json.RawMessage {
	if len(n) == 0 {
		return raw
	}
	var out bytes.Buffer
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		end := stringEnd(raw, i)
		out.Write(n.quoted(raw[i:end]))
		i = end
	}
	return out.Bytes()
}

// stringEnd is the index behind the string that begins at raw[i].
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func (n renamer) quoted(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil || !n.touches(s) {
		return raw
	}
	line, err := encode(n.text(s))
	if err != nil {
		return raw // not of a string
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

// value is a decoded piece of JSON with the places in its strings replaced.
func (n renamer) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []any:
		for i := range v {
			v[i] = n.value(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = n.value(v[k])
		}
	}
	return v
}
