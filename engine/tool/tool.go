// Package tool is the contract of what an agent can call, and the built-in tools
// of the native harness. A Tool has a Definition, which the model sees, and runs
// a Call into a Result. A Set is the built-in tools of one agent's session: they
// share its working directory, its read receipts and its background commands.
package tool

import (
	"context"
	"encoding/json"
	"strings"
)

// Tool is something an agent can call. Run may be called from several goroutines
// at once when the definition says ReadOnly, else it is called by one at a time.
// It returns when ctx ends. Whatever goes wrong is a Result with IsError and a
// text that tells the model what to do next: a tool never fails the run.
type Tool interface {
	Definition() Definition
	Run(ctx context.Context, c Call) Result
}

// Definition is what the model is told about a tool.
type Definition struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,128}$
	Description string          // what it does, when to use it, its limits
	Schema      json.RawMessage // JSON Schema of the input, an object
	// ReadOnly: the tool changes nothing, so calls of one turn may run side by
	// side. The others run in call order.
	ReadOnly bool
}

// Call is one call of a tool.
type Call struct {
	ID    string          // tool_use_id
	Input json.RawMessage // a JSON object; not checked against the schema
	Agent string          // the calling subagent's id; empty on the main thread
}

// Result is what a call returned.
type Result struct {
	Content []Content
	IsError bool
	// Structured is kept with the stored result (toolUseResult) and never sent:
	// read receipts, exit codes, paths. A JSON value, or nil.
	Structured json.RawMessage
}

// Content is one piece of a result: a text, or an image or document as bytes.
type Content struct {
	Text      string
	MediaType string // of Data: image/png, application/pdf, …; empty for a text
	Data      []byte
}

// TextResult is a result of one text.
func TextResult(text string) Result { return Result{Content: []Content{{Text: text}}} }

// ErrorResult is a result that says what went wrong and what to do next.
func ErrorResult(text string) Result {
	return Result{Content: []Content{{Text: text}}, IsError: true}
}

// Text is the result's texts, joined by line ends.
func (r Result) Text() string {
	var parts []string
	for _, c := range r.Content {
		if c.MediaType == "" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Func makes a Go function a Tool.
type Func struct {
	Def  Definition
	Call func(ctx context.Context, c Call) Result
}

// Definition returns f.Def.
func (f Func) Definition() Definition { return f.Def }

// Run calls f.Call.
func (f Func) Run(ctx context.Context, c Call) Result { return f.Call(ctx, c) }
