package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/transcript"
)

// What is told of a run directory that has lost a part of what an earlier run left:
// what is missing there is begun anew.

// tellLostID tells that the project's id, under which the sessions of earlier runs are
// stored, was not there although there were runs.
func (rt *Runtime) tellLostID() {
	if !rt.freshID || !rt.ranBefore() {
		return
	}
	path := filepath.Join(rt.runDir, "id")
	text := fmt.Sprintf("%s was missing or empty, so a new one was made: what earlier runs left in this directory is not continued", path)
	if ids := rt.otherProjects(); len(ids) > 0 {
		text += fmt.Sprintf(". To go on with it, end this run and write the old id into the file: the store has sessions of %s", strings.Join(ids, ", "))
	}
	rt.emit(event.Event{Kind: event.Task, Text: text})
}

// ranBefore: an earlier run has left a lineage or accounts.
func (b *base) ranBefore() bool {
	for _, name := range []string{"lineage.json", "manifest.json"} {
		if _, err := os.Lstat(filepath.Join(b.runDir, name)); err == nil {
			return true
		}
	}
	return false
}

// otherProjects are some of the ids under which the store has sessions.
func (rt *Runtime) otherProjects() (ids []string) {
	const most = 3
	for info, err := range rt.config.Store.List(context.Background(), transcript.Key{}) {
		if err != nil || len(ids) == most {
			return ids // a hint only
		}
		id := info.Key.Project
		if id != rt.project && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id)
		}
	}
	return ids
}
