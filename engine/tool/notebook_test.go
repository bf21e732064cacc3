package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/tool"
)

const aNotebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title <b>\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "work",
   "metadata": {"tags":   ["odd  spacing"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["old output\n"]
    }
   ],
   "source": "print(1)"
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// notebookEdited runs one edit on a notebook that was read.
func notebookEdited(t *testing.T, text string, input in) (tool.Result, string) {
	t.Helper()
	dir := tempDir(t)
	path := put(t, dir, "n.ipynb", text)
	s := newSet(t, tool.Options{Workspace: dir})
	good(t, s, "Read", in{"file_path": path})
	input["notebook_path"] = "n.ipynb"
	return run(t, s, "NotebookEdit", input), content(t, path)
}

func TestNotebookEdit_replaces_a_cell_and_nothing_else(t *testing.T) {
	r, got := notebookEdited(t, aNotebook, in{"cell_id": "work", "new_source": "if a < b:\n    print(\"ü\")\n"})
	wants(t, r.Text(), "replaced cell work of n.ipynb")
	want := strings.Replace(aNotebook, `"execution_count": 7`, `"execution_count": null`, 1)
	from, to := strings.Index(want, `"outputs": [`), strings.Index(want, `"source": "print(1)"`)
	want = want[:from] + "\"outputs\": [],\n   \"source\": [\n    \"if a < b:\\n\",\n    \"    print(\\\"ü\\\")\\n\"\n   ]" + want[to+len(`"source": "print(1)"`):]
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	_, got = notebookEdited(t, aNotebook, in{"cell_id": "cell-0", "new_source": "", "edit_mode": "replace"})
	if want := strings.Replace(aNotebook, "[\n    \"# Title <b>\\n\",\n    \"text\"\n   ]", "[]", 1); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNotebookEdit_inserts_and_deletes(t *testing.T) {
	_, got := notebookEdited(t, aNotebook, in{"cell_id": "intro", "edit_mode": "delete"})
	from, to := strings.Index(aNotebook, "{\n   \"cell_type\": \"markdown\""), strings.Index(aNotebook, "{\n   \"cell_type\": \"code\"")
	if want := aNotebook[:from] + aNotebook[to:]; got != want {
		t.Errorf("delete: %s", got)
	}
	for _, c := range []struct {
		text  string
		input in
		order string
	}{
		{aNotebook, in{"cell_id": "work", "edit_mode": "delete"}, "markdown"},
		{aNotebook, in{"edit_mode": "insert", "cell_type": "code", "new_source": "x"}, "code markdown code"},
		{aNotebook, in{"edit_mode": "insert", "cell_type": "raw", "new_source": "x", "cell_id": "intro"}, "markdown raw code"},
		{aNotebook, in{"edit_mode": "insert", "cell_type": "raw", "new_source": "x", "cell_id": "cell-1"}, "markdown code raw"},
		{aNotebook, in{"cell_id": "work", "cell_type": "markdown", "new_source": "x"}, "markdown markdown"},
		{aNotebook, in{"cell_id": "intro", "cell_type": "code", "new_source": "x"}, "code code"},
		{`{"cells":[],"nbformat":4,"nbformat_minor":4}`, in{"edit_mode": "insert", "cell_type": "code", "new_source": "x"}, "code"},
		{`{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"raw","metadata":{},"source":"a"}]}`, in{"edit_mode": "insert", "cell_type": "code", "new_source": "x", "cell_id": "0"}, "raw code"},
		{`{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"raw","metadata":{},"source":"a"}]}`, in{"edit_mode": "delete", "cell_id": "0"}, ""},
		{"{\n \"cells\": [],\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n", in{"edit_mode": "insert", "cell_type": "code", "new_source": "x"}, "code"},
	} {
		r, got := notebookEdited(t, c.text, c.input)
		if r.IsError {
			t.Errorf("%v: %s", c.input, r.Text())
			continue
		}
		var nb struct {
			Cells []struct {
				Type    string `json:"cell_type"`
				ID      string
				Outputs []any
				Source  any
			}
			Minor int `json:"nbformat_minor"`
		}
		if err := json.Unmarshal([]byte(got), &nb); err != nil {
			t.Fatal(err)
		}
		var order []string
		ids := map[string]bool{}
		for _, cell := range nb.Cells {
			order = append(order, cell.Type)
			if nb.Minor >= 5 && (cell.ID == "" || ids[cell.ID]) || nb.Minor < 5 && cell.ID != "" {
				t.Errorf("%v: id %q", c.input, cell.ID)
			}
			ids[cell.ID] = true
			if (cell.Type == "code") != (cell.Outputs != nil) {
				t.Errorf("%v: outputs of a %s cell: %v", c.input, cell.Type, cell.Outputs)
			}
		}
		if strings.Join(order, " ") != c.order {
			t.Errorf("%v: cells %v, want %s", c.input, order, c.order)
		}
	}
}

func TestNotebookEdit_refuses(t *testing.T) {
	for _, c := range []struct {
		text  string
		input in
		want  string
	}{
		{aNotebook, in{"cell_id": "nope", "new_source": "x"}, `no cell "nope"; it has intro, work`},
		{aNotebook, in{"cell_id": "work"}, "new_source is missing"},
		{aNotebook, in{"new_source": "x"}, "cell_id is missing"},
		{aNotebook, in{"edit_mode": "insert", "new_source": "x"}, "cell_type is missing"},
		{aNotebook, in{"edit_mode": "burn", "cell_id": "work", "new_source": "x"}, "not one of replace"},
		{aNotebook, in{"cell_type": "heading", "cell_id": "work", "new_source": "x"}, "not one of code"},
		{"[]", in{"cell_id": "work", "new_source": "x"}, "it is no notebook"},
		{`{"cells":{}}`, in{"cell_id": "work", "new_source": "x"}, "no list of cells"},
	} {
		r, got := notebookEdited(t, c.text, c.input)
		if !r.IsError || got != c.text {
			t.Errorf("%v: no error, or the file changed", c.input)
		}
		wants(t, r.Text(), c.want)
	}
	dir := tempDir(t)
	put(t, dir, "n.ipynb", aNotebook)
	s := newSet(t, tool.Options{Workspace: dir})
	edit := in{"notebook_path": "n.ipynb", "cell_id": "work", "new_source": "x"}
	wants(t, bad(t, s, "NotebookEdit", edit), "has not been read")
	good(t, s, "Read", in{"file_path": "n.ipynb"})
	good(t, s, "NotebookEdit", edit)
	good(t, s, "NotebookEdit", edit) // it knows what it wrote
	if err := os.WriteFile(filepath.Join(dir, "n.ipynb"), []byte(aNotebook+" "), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, bad(t, s, "NotebookEdit", edit), "has changed since")
	wants(t, bad(t, s, "NotebookEdit", in{"notebook_path": "m.ipynb", "cell_id": "work", "new_source": "x"}), "did you mean")
	wants(t, bad(t, s, "NotebookEdit", in{"notebook_path": "/n.ipynb", "cell_id": "work", "new_source": "x"}), "outside the folders")
}

func TestTodoWrite(t *testing.T) {
	var agent string
	var got []tool.Todo
	s := newSet(t, tool.Options{OnTodos: func(a string, todos []tool.Todo) { agent, got = a, todos }})
	list := []in{{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress", "activeForm": "doing b"}, {"content": "c", "status": "pending"}}
	b, _ := json.Marshal(in{"todos": list})
	r := find(t, s, "TodoWrite").Run(t.Context(), tool.Call{Input: b, Agent: "agent-1"})
	wants(t, r.Text(), "1 completed, 1 in progress, 1 pending")
	if agent != "agent-1" || len(got) != 3 || got[1] != (tool.Todo{Content: "b", Status: "in_progress", ActiveForm: "doing b"}) {
		t.Errorf("told %q %v", agent, got)
	}
	if kept := structured(t, r)["todos"].([]any); len(kept) != 3 {
		t.Errorf("kept %v", kept)
	}
	got = nil
	wants(t, bad(t, s, "TodoWrite", in{"todos": []in{{"content": "a", "status": "done"}}}), `status "done" of entry 1`)
	wants(t, bad(t, s, "TodoWrite", in{"todos": []in{{"content": " ", "status": "pending"}}}), "no content")
	wants(t, bad(t, s, "TodoWrite", in{"todos": "a, b"}), "todos cannot be a string")
	wants(t, bad(t, s, "TodoWrite", in{}), "todos is missing (given: nothing)")
	if got != nil {
		t.Errorf("a refused list was told: %v", got)
	}
}

func TestSet_definitions(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{PageLines: 77}})
	readOnly := map[string]bool{"Read": true, "Glob": true, "Grep": true, "BashOutput": true, "WebFetch": true}
	var names []string
	for _, x := range s.Tools() {
		d := x.Definition()
		names = append(names, d.Name)
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(d.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema: %v", d.Name, err)
		}
		for _, p := range schema.Required {
			if schema.Properties[p] == nil {
				t.Errorf("%s: %s is required and not described", d.Name, p)
			}
		}
		if d.ReadOnly != readOnly[d.Name] {
			t.Errorf("%s: ReadOnly = %v", d.Name, d.ReadOnly)
		}
		if len(d.Description) < 100 || strings.ContainsAny(d.Description, "{}") && !strings.Contains(d.Description, "Braces") {
			t.Errorf("%s: description %q", d.Name, d.Description)
		}
		for _, input := range []string{"", "null", "[]", `"x"`, "{", `{"a":`} {
			if r := x.Run(t.Context(), tool.Call{Input: json.RawMessage(input)}); !r.IsError {
				t.Errorf("%s: input %q is taken: %s", d.Name, input, r.Text())
			}
		}
	}
	if got := strings.Join(names, " "); got != "Read Write Edit Bash Glob Grep BashOutput KillBash NotebookEdit TodoWrite WebFetch" {
		t.Errorf("tools: %s", got)
	}
	wants(t, find(t, s, "Read").Definition().Description, "77 lines or 50.0 KiB")
}
