package store

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// bootID names the present start of the machine; empty when that is not known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// The whence values of Seek that look for holes in a file.
const (
	seekData = 3
	seekHole = 4
)

// dataSync makes what is in a file safe against a power cut, without its times.
func dataSync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
