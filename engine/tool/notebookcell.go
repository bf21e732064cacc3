package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// cell is a cell as it is written: every field as JSON.
type cell struct {
	kind     string
	id       string // empty where the notebook's format has none
	metadata json.RawMessage
	source   string
}

// newCell is a cell with an id that no other has. The id comes from what is
// there and what is put in, so that the same edit gives the same file.
func (nb *notebook) newCell(kind, source string) cell {
	c := cell{kind: kind, metadata: json.RawMessage("{}"), source: source}
	if !nb.ids {
		return c
	}
	sum := sha256.Sum256(append([]byte(source), nb.text...))
	for {
		c.id = hex.EncodeToString(sum[:4])
		if !bytes.Contains(nb.text, []byte(`"`+c.id+`"`)) {
			return c
		}
		sum = sha256.Sum256(sum[:])
	}
}

// member is a name and a value that is JSON already.
type member struct {
	name  string
	value any
}

// fields are the members of the cell, in the order in which notebooks have them.
func (c cell) fields() []member {
	out := []member{{"cell_type", c.kind}}
	if c.kind == "code" {
		out = append(out, member{"execution_count", nil})
	}
	if c.id != "" {
		out = append(out, member{"id", c.id})
	}
	out = append(out, member{"metadata", c.metadata})
	if c.kind == "code" {
		out = append(out, member{"outputs", []any{}})
	}
	return append(out, member{"source", sourceLines(c.source)})
}

// sourceLines is how notebooks keep a text: its lines with their ends.
func sourceLines(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	if lines == nil {
		return []string{}
	}
	return lines
}

// render writes an object at a depth of indentation.
func (nb *notebook) render(members []member, depth int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(nb.lineStart(depth + 1))
		b.Write(nb.value(m.name, depth+1))
		b.WriteString(": ")
		b.Write(nb.value(m.value, depth+1))
	}
	b.WriteString(nb.lineStart(depth))
	b.WriteByte('}')
	return b.Bytes()
}

// value writes a value whose first line begins at a depth of indentation.
func (nb *notebook) value(v any, depth int) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if nb.unit != "" {
		e.SetIndent(strings.Repeat(nb.unit, depth), nb.unit)
	}
	_ = e.Encode(v) // strings, lists of them and JSON: nothing that cannot be written
	return bytes.TrimSpace(b.Bytes())
}

// replaced is the text of the cell at i with a new source. What a code cell had
// printed belongs to the old one and goes.
func (nb *notebook) replaced(i int, in notebookInput) ([]byte, error) {
	text := nb.text[nb.cells[i].from:nb.cells[i].to]
	var old struct {
		Kind     string          `json:"cell_type"`
		ID       string          `json:"id"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, err
	}
	if in.Type != "" && in.Type != old.Kind {
		c := cell{kind: in.Type, id: old.ID, metadata: old.Metadata, source: *in.Source}
		if c.metadata == nil {
			c.metadata = json.RawMessage("{}")
		}
		return nb.render(c.fields(), 2), nil
	}
	fields, err := fieldsOf(text)
	if err != nil {
		return nil, err
	}
	values := map[string]any{"source": sourceLines(*in.Source)}
	if old.Kind == "code" {
		values["outputs"], values["execution_count"] = []any{}, nil
	}
	// From the end, so that the places before stay right.
	for _, f := range slices.Backward(fields) {
		if v, ok := values[f.name]; ok {
			text = bytes.Join([][]byte{text[:f.value.from], nb.value(v, 3), text[f.value.to:]}, nil)
		}
	}
	return text, nil
}
