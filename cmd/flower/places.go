package main

import (
	"errors"
	"fmt"

	"github.com/flowerlua/flower/settings"
)

// readSettings are those of a run, with what a person should know of them: a file
// that cannot be read, a name that nobody reads. A value that cannot work is an
// error.
func readSettings(workspace string) (s *settings.Settings, warnings []string, err error) {
	if s, err = settings.Load(settings.Options{Workspace: workspace}); err != nil {
		return nil, nil, err
	}
	if wrong := s.Check(); len(wrong) > 0 {
		return nil, nil, errors.Join(wrong...)
	}
	for _, src := range s.Sources() {
		if src.Problem != nil {
			warnings = append(warnings, fmt.Sprintf("! %v; nothing of it is used", src.Problem))
		}
		for _, m := range src.Misspelt {
			warnings = append(warnings, fmt.Sprintf("! %s: %s", src.Name, m))
		}
	}
	return s, warnings, nil
}
