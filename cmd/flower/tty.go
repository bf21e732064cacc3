//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// byKey makes a terminal hand over every key at once, Ctrl-Z too, and echo none, until
// restore is called. Ctrl-C and the treatment of output stay, so that a process that
// dies leaves a terminal that can be used.
func byKey(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	old, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	keys := *old
	keys.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	keys.Iflag &^= unix.IXON
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME], keys.Cc[unix.VSUSP] = 1, 0, noKey
	if err := unix.IoctlSetTermios(fd, setTermios, &keys); err != nil {
		return nil, err
	}
	return func() {
		_ = unix.IoctlSetTermios(fd, setTermios, old) // a terminal that is gone needs nothing
	}, nil
}

// inForeground: the terminal's keys go to this process. To one in the background a
// read would be a stop.
func inForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
