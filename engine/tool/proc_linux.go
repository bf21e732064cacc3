package tool

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"
)

// groupAlive reports whether a process of the group runs. One that has exited
// and that nobody has reaped does not count: in a container without an init it
// stays for ever.
func groupAlive(group int) bool {
	if syscall.Kill(-group, 0) == syscall.ESRCH {
		return false
	}
	alive := false
	seen := eachProcess(func(pid int) bool {
		state, pgrp := stat(pid)
		alive = pgrp == group && state != 'Z' && state != 'X'
		return !alive
	})
	return alive || !seen
}

// marked are the processes that run with the mark in their environment.
func marked(mark string) []int {
	var pids []int
	self := os.Getpid()
	eachProcess(func(pid int) bool {
		if pid != self && hasMark(pid, mark) {
			if state, _ := stat(pid); state != 'Z' && state != 'X' {
				pids = append(pids, pid)
			}
		}
		return true
	})
	return pids
}

func hasMark(pid int, mark string) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // gone, or somebody else's
	}
	defer f.Close()
	// The mark is put first in the environment that we give.
	b, err := io.ReadAll(io.LimitReader(f, 256<<10))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.HasPrefix(v, []byte(markVariable+"=")) {
			return bytes.Contains(v, []byte(mark))
		}
	}
	return false
}

// eachProcess calls f with the id of every process until it returns false. It
// reports whether it saw any: /proc may not be there.
func eachProcess(f func(pid int) bool) (seen bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		seen = true
		if !f(pid) {
			break
		}
	}
	return seen
}

// stat is a process's state letter and group; zero when it is gone.
func stat(pid int) (state byte, group int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name is in parentheses and may hold anything, those included.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	group, err = strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0, 0
	}
	return fields[0][0], group
}
