package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What is kept of whole outputs of commands: transcripts name the files, so they stay
// for a while.
const (
	outputsFor  = 30 * 24 * time.Hour
	outputsMost = 1 << 30 // bytes of them; the oldest beyond go, if a day old
	outputsMin  = 24 * time.Hour
)

// pruneOutputs removes old outputs from a folder of them, before a run begins. What
// cannot be removed stays until the next time.
func pruneOutputs(dir string, now time.Time, most int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is none yet
	}
	var files []os.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), "output-") && strings.HasSuffix(e.Name(), ".txt") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	total := int64(0)
	for _, f := range files {
		total += f.Size()
		age := now.Sub(f.ModTime())
		if age > outputsFor || total > most && age > outputsMin {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}
