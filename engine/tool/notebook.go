package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/internal/atomicfile"
)

const notebookSchema = `{"type":"object","properties":{
"notebook_path":{"type":"string","description":"The .ipynb file, absolute or relative to the working directory"},
"cell_id":{"type":"string","description":"The cell's id, or cell-N for the Nth counted from 0; with insert the new cell comes after it, or first without it"},
"new_source":{"type":"string","description":"The cell's new source; not needed with delete"},
"cell_type":{"type":"string","enum":["code","markdown","raw"],"description":"Needed with insert; else as it is"},
"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"replace if not given"}},
"required":["notebook_path"]}`

type notebookInput struct {
	Path   string  `json:"notebook_path"`
	Cell   string  `json:"cell_id"`
	Source *string `json:"new_source"`
	Type   string  `json:"cell_type"`
	Mode   string  `json:"edit_mode"`
}

func (s *Set) notebookEdit(_ context.Context, c Call) Result {
	var in notebookInput
	if err := decode(c, &in, "notebook_path"); err != nil {
		return inputError("NotebookEdit", err)
	}
	if err := in.check(); err != nil {
		return inputError("NotebookEdit", err)
	}
	path, real, err := s.writePath(in.Path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	old, err := s.currentContent(path, real)
	if err == nil && old == nil {
		err = s.missing(path)
	}
	if err != nil {
		return ErrorResult(err.Error())
	}
	seen, ok := s.receiptOf(real)
	switch {
	case !ok:
		return ErrorResult(fmt.Sprintf("%s has not been read; read it first", path))
	case seen.Hash != hashOf(old):
		return ErrorResult(fmt.Sprintf("%s has changed since it was read; read it again first", path))
	}
	content, id, err := editNotebook(old, in)
	if err != nil {
		return ErrorResult(fmt.Sprintf("%s: %v", path, err))
	}
	if err := atomicfile.Write(real, content, 0o644); err != nil {
		return ErrorResult(fmt.Sprintf("%v; the file is as it was", err))
	}
	done := map[string]string{"replace": "replaced", "insert": "inserted", "delete": "deleted"}[in.Mode]
	return TextResult(fmt.Sprintf("%s cell %s of %s", done, id, s.shown(path))).
		with(record{Receipts: []receipt{s.wrote(real, content, len(seen.Seen) == 0)}})
}

func (in *notebookInput) check() error {
	if in.Mode == "" {
		in.Mode = "replace"
	}
	switch in.Type {
	case "", "code", "markdown", "raw":
	default:
		return fmt.Errorf("cell_type %q is not one of code, markdown, raw", in.Type)
	}
	switch in.Mode {
	case "replace", "insert", "delete":
	default:
		return fmt.Errorf("edit_mode %q is not one of replace, insert, delete", in.Mode)
	}
	switch {
	case in.Mode != "delete" && in.Source == nil:
		return errors.New("new_source is missing")
	case in.Mode == "insert" && in.Type == "":
		return errors.New("cell_type is missing: insert needs it")
	case in.Mode != "insert" && in.Cell == "":
		return errors.New("cell_id is missing")
	}
	return nil
}

// A notebook is its text and where the cells are in it. All but the cell that is
// edited stays as it is, byte for byte.
type notebook struct {
	text  []byte
	begin int    // behind the bracket that opens the list of cells
	cells []span // the cells
	ids   bool   // its format gives cells an id
	unit  string // of indentation; empty where all is on one line
}

// editNotebook returns the notebook's new text and the id of the cell.
func editNotebook(text []byte, in notebookInput) (_ []byte, id string, err error) {
	nb, err := parseNotebook(text)
	if err != nil {
		return nil, "", err
	}
	at := -1
	if in.Cell != "" {
		if at, err = nb.find(in.Cell); err != nil {
			return nil, "", err
		}
		id = in.Cell
	}
	var out []byte
	switch in.Mode {
	case "delete":
		out = nb.without(at)
	case "insert":
		cell := nb.newCell(in.Type, *in.Source)
		id = cell.id
		out = nb.with(at, nb.render(cell.fields(), 2))
	default:
		var cell []byte
		if cell, err = nb.replaced(at, in); err == nil {
			out = nb.splice(nb.cells[at], cell)
		}
	}
	if err == nil && !json.Valid(out) {
		err = errors.New("the edit would break the notebook; change it with Edit")
	}
	return out, id, err
}

func parseNotebook(text []byte) (*notebook, error) {
	nb := &notebook{text: text, begin: -1}
	var format struct {
		Major int `json:"nbformat"`
		Minor int `json:"nbformat_minor"`
	}
	if err := json.Unmarshal(text, &format); err != nil {
		return nil, fmt.Errorf("it is no notebook: %w", err)
	}
	nb.ids = format.Major > 4 || format.Major == 4 && format.Minor >= 5
	fields, err := fieldsOf(text)
	if err != nil {
		return nil, fmt.Errorf("it is no notebook: %w", err)
	}
	for _, f := range fields {
		if f.name != "cells" {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(text[f.value.from:f.value.to]))
		if t, err := d.Token(); err != nil || t != json.Delim('[') {
			break
		}
		nb.begin = f.value.from + int(d.InputOffset())
		for d.More() {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return nil, err
			}
			end := f.value.from + int(d.InputOffset())
			nb.cells = append(nb.cells, span{end - len(raw), end})
		}
	}
	if nb.begin < 0 {
		return nil, errors.New("it is no notebook: it has no list of cells")
	}
	nb.unit = indentOf(text)
	return nb, nil
}

// indentOf is the white space that begins the second line.
func indentOf(text []byte) string {
	_, line, _ := bytes.Cut(text, []byte("\n"))
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// field is a member of a JSON object and where its value is in the object's text.
type field struct {
	name  string
	value span
}

func fieldsOf(object []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var fields []field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		fields = append(fields, field{fmt.Sprint(name), span{end - len(raw), end}})
	}
	return fields, nil
}

// find is the place of a cell by its id, or by cell-N.
func (nb *notebook) find(id string) (int, error) {
	var ids []string
	for i, c := range nb.cells {
		var cell struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(nb.text[c.from:c.to], &cell) // without an id it has its number
		if cell.ID == id {
			return i, nil
		}
		if cell.ID == "" {
			cell.ID = "cell-" + strconv.Itoa(i)
		}
		ids = append(ids, cell.ID)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "cell-")); err == nil && n >= 0 && n < len(nb.cells) {
		return n, nil
	}
	return 0, fmt.Errorf("it has no cell %q; it has %s", id, firstChars(strings.Join(ids, ", "), 500))
}

// splice puts text in the place of a part.
func (nb *notebook) splice(part span, text []byte) []byte {
	return bytes.Join([][]byte{nb.text[:part.from], text, nb.text[part.to:]}, nil)
}

// without is the text without a cell and the comma beside it.
func (nb *notebook) without(i int) []byte {
	part := nb.cells[i]
	switch {
	case i+1 < len(nb.cells):
		part.to = nb.cells[i+1].from
	case i > 0:
		part.from = nb.cells[i-1].to
	}
	return nb.splice(part, nil)
}

// with is the text with a cell after the one at i; -1 puts it first.
func (nb *notebook) with(i int, cell []byte) []byte {
	lead := nb.lineStart(2)
	switch {
	case i >= 0:
		at := nb.cells[i].to
		return nb.splice(span{at, at}, append([]byte(","+lead), cell...))
	case len(nb.cells) > 0:
		at := nb.cells[0].from
		return nb.splice(span{at, at}, append(cell, ","+lead...))
	}
	// The list is empty, with whatever white space in it.
	at := nb.begin
	end := at + bytes.IndexByte(nb.text[at:], ']')
	return nb.splice(span{at, end}, []byte(lead+string(cell)+nb.lineStart(1)))
}

func (nb *notebook) lineStart(depth int) string {
	if nb.unit == "" {
		return ""
	}
	return "\n" + strings.Repeat(nb.unit, depth)
}
