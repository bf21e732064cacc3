package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/flowerlua/flower/engine/event"
)

// eventFile writes events as JSON Lines, each at once, so that a reader can
// follow. After the first error it stops writing and reports it at the end.
type eventFile struct {
	enc    *json.Encoder
	closer io.Closer // nil: not ours to close
	err    error
}

func newEventFile(w io.Writer, c io.Closer) *eventFile {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &eventFile{enc: enc, closer: c}
}

func (f *eventFile) Emit(e event.Event) {
	if f.err == nil {
		f.err = f.enc.Encode(e)
	}
}

func (f *eventFile) close() error {
	err := f.err
	if f.closer != nil {
		if closeErr := f.closer.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}
