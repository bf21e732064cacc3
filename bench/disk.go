package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// bareSync writes a page to the end of a file and syncs it, again and again, and
// returns how long each took, in seconds.
func (e *env) bareSync(budget time.Duration) (values []float64, err error) {
	f, err := os.Create(filepath.Join(e.dir, "pages"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	page := make([]byte, 4096)
	for begin := time.Now(); len(values) < 3 || time.Since(begin) < budget; {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		values = append(values, time.Since(start).Seconds())
	}
	return values, nil
}
