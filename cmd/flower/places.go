package main

import (
	"errors"
	"fmt"

	"github.com/flowerlua/flower/settings"
)

// readSettings are those of a run, with what a person should know of them: a file
// that cannot be read, a name that nobody reads; with -v also where each comes from.
// A value that cannot work is an error.
func (c *cli) readSettings(workspace string) (s *settings.Settings, notes []string, err error) {
	if s, err = settings.Load(settings.Options{Workspace: workspace}); err != nil {
		return nil, nil, err
	}
	if wrong := s.Check(); len(wrong) > 0 {
		return nil, nil, errors.Join(wrong...)
	}
	for _, key := range settings.Keys {
		if v := s.Lookup(key); c.Verbose && v.Text != "" {
			notes = append(notes, fmt.Sprintf("%s is %s, from %s", key, v.Shown(), v.Place()))
		}
	}
	for _, src := range s.Sources() {
		if src.Problem != nil {
			notes = append(notes, fmt.Sprintf("! %v; nothing of it is used", src.Problem))
		}
		for _, m := range src.Misspelt {
			notes = append(notes, fmt.Sprintf("! %s: %s", src.Name, m))
		}
	}
	return s, notes, nil
}
