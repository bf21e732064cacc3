//go:build !linux

package store

import (
	"os"
	"syscall"
)

// bootID names the present start of the machine; empty when that is not known.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// The whence values of Seek that look for holes in a file.
const (
	seekHole = 3
	seekData = 4
)

// dataSync makes what is in a file safe against a power cut.
func dataSync(f *os.File) error { return f.Sync() }
