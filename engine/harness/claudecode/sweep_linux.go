package claudecode

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// sweep ends what the program has left running. It gives its commands process
// groups of their own and leaves them behind when it is killed; the mark in
// their environment tells them from everything else on the machine.
func sweep(mark string) {
	for range 50 {
		left := marked(mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already: nothing to do
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// marked are the processes with the mark in their environment.
func marked(mark string) []int {
	var left []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			left = append(left, pid)
		}
	}
	return left
}
