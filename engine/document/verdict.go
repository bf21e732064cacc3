package document

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The verdict reader: from the conclusion of a reply to a state. In doubt it
// finds none, and nothing that fails or holds only in part is ever achieved.

// outcome is what a stretch of text says.
type outcome struct {
	state State
	torn  bool // it says two different things
}

func (o outcome) says() bool { return o.torn || o.state != "" }

// verdict reads the state of a reply: from its conclusion, or from the whole
// of it when there is no conclusion and it is one line.
func (r reply) verdict() State {
	chosen, repeated := r.chosen(FieldState)
	if len(chosen) == 0 {
		line, ok := r.source.single()
		if !ok {
			return ""
		}
		return readConclusion(line).state
	}
	var sum outcome
	for _, s := range chosen {
		sum = sum.and(readConclusion(s.spoken()))
	}
	// The first of two conclusions counts, but no success that a second one
	// takes back.
	for _, s := range repeated {
		if sum.state != Achieved {
			break
		}
		sum = sum.and(readConclusion(s.spoken()))
	}
	return sum.state
}

func (o outcome) and(p outcome) outcome {
	switch {
	case o.torn || p.torn || o.state != "" && p.state != "" && o.state != p.state:
		return outcome{torn: true}
	case o.state == "":
		return p
	}
	return o
}

// single returns the line of a reply of one line.
func (src source) single() (string, bool) {
	lines := trimEmpty(src.lines)
	if len(lines) != 1 || src.fenced {
		return "", false
	}
	return lines[0], true
}

// readConclusion reads the text of one conclusion.
func readConclusion(text string) outcome {
	text = strings.TrimSpace(text)
	if value, ok := fromJSON(text); ok {
		text = value
	}
	text = unquote(text)
	rd := reader{tokens: lex(text)}
	rd.read()
	return rd.outcome()
}

// jsonKeys name the state in a reply that is a JSON object, besides the
// headings of a conclusion.
var jsonKeys = foldedSet([]string{"state", "status", "result", "outcome"},
	verdictNames[0].en, verdictNames[0].zh, verdictNames[0].es, verdictNames[0].de)

// fromJSON returns the state of a JSON object like {"verdict": "achieved"}.
func fromJSON(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return "", false
	}
	found := ""
	for key, value := range object {
		if !jsonKeys[fold(key)] {
			continue
		}
		encoded, err := json.Marshal(value)
		if err != nil || found != "" {
			return "", true // two states are none
		}
		found = strings.Trim(string(encoded), `"`)
	}
	return found, true
}

// unquote takes the quotes off a conclusion that is a quotation as a whole.
func unquote(text string) string {
	trimmed := strings.TrimSpace(strings.Trim(text, "*_ .。!"))
	first, size := utf8.DecodeRuneInString(trimmed)
	closed := quotes[first]
	if first == '\'' {
		closed = '\''
	}
	if closed == 0 {
		return text
	}
	inner, after, ok := cutQuote(trimmed[size:], string(closed))
	if !ok || strings.TrimFunc(after, unicode.IsPunct) != "" {
		return text
	}
	return inner
}
