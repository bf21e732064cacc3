package claudecode

import (
	"encoding/json"
	"strings"
)

// What a tool returned, as the program hands it to its hooks, has a shape of each
// tool's own, and only the same shape is taken back: another one is dropped
// without a word. Guards see the text where there is one.

// shape is a tool's output with the place of its text.
type shape struct {
	output any // as decoded
	value  any // what guards see
	line   int // of a file: the number of the first one
	put    func(text string) any
}

// newShape finds the text in a tool's output. What a command printed beyond a
// limit is in a file, which whole reads; it may be nil.
func newShape(tool string, output json.RawMessage, whole func(path string) (string, bool)) shape {
	var v any
	if json.Unmarshal(output, &v) != nil {
		return shape{}
	}
	s := shape{output: v, value: v}
	switch v := v.(type) {
	case string:
		s.put = func(text string) any { return text }
	case map[string]any:
		s.object(tool, v, whole)
	case []any:
		s.list(v)
	}
	return s
}

// object finds the text of a command or of a file.
func (s *shape) object(tool string, v map[string]any, whole func(path string) (string, bool)) {
	switch tool {
	case "Bash":
		out, ok := v["stdout"].(string)
		if image, _ := v["isImage"].(bool); !ok || image {
			return
		}
		if path, _ := v["persistedOutputPath"].(string); path != "" && whole != nil {
			if text, ok := whole(path); ok {
				out = text
			}
		}
		if stderr, _ := v["stderr"].(string); stderr != "" {
			out = strings.TrimSuffix(out, "\n") + "\n" + stderr
		}
		s.value = out
		s.put = func(text string) any {
			short := with(v, "stdout", text, "stderr", "")
			delete(short, "persistedOutputPath") // else the program shows that file's beginning
			delete(short, "persistedOutputSize")
			return short
		}
	case "Read":
		file, _ := v["file"].(map[string]any)
		if content, ok := file["content"].(string); ok && v["type"] == "text" {
			s.value, s.line = content, 1
			if start, ok := file["startLine"].(float64); ok {
				s.line = int(start)
			}
			s.put = func(text string) any {
				lines := float64(strings.Count(text, "\n") + 1)
				return with(v, "file", with(file, "content", text, "numLines", lines))
			}
		}
	case "Grep":
		if content, ok := v["content"].(string); ok {
			s.value = content
			s.put = func(text string) any { return with(v, "content", text) }
		}
	}
}

// list finds the text of a result of a server's tool.
func (s *shape) list(v []any) {
	if len(v) != 1 {
		return
	}
	block, _ := v[0].(map[string]any)
	if text, ok := block["text"].(string); ok && block["type"] == "text" {
		s.value = text
		s.put = func(text string) any { return []any{with(block, "text", text)} }
	}
}

// with is a copy of v with other values under some keys.
func with(v map[string]any, pairs ...any) map[string]any {
	out := make(map[string]any, len(v))
	for key, value := range v {
		out[key] = value
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// replaced is the output with what guards made of its value; false when it cannot
// be put back in the tool's shape.
func (s shape) replaced(value any) (output any, ok bool) {
	text, isText := value.(string)
	if isText && s.put != nil {
		return s.put(text), true
	}
	_, was := s.value.(map[string]any)
	if m, ok := value.(map[string]any); ok && was && s.put == nil {
		return m, true
	}
	if l, ok := value.([]any); ok {
		_, was := s.value.([]any)
		return l, was
	}
	return nil, false
}

// longestText is the longest string in a value: what is looked for in the result
// that the program reports, to see whether a replacement took effect.
func longestText(v any) string {
	longest := ""
	visit(v, func(s string) {
		if len(s) > len(longest) {
			longest = s
		}
	})
	return strings.TrimSpace(longest)
}

// visit calls f with every string in a value.
func visit(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			visit(item, f)
		}
	case map[string]any:
		for _, item := range v {
			visit(item, f)
		}
	}
}

// holds reports whether some string in raw, or the texts of content, have text in
// them.
func holds(text string, content, raw json.RawMessage) bool {
	found := strings.Contains(texts(content), text)
	var v any
	if json.Unmarshal(raw, &v) == nil {
		visit(v, func(s string) { found = found || strings.Contains(s, text) })
	}
	return found
}
