//go:build !unix

package claudecode

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(*exec.Cmd) {}

func signalGroup(pid int, sig syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil && sig == syscall.SIGKILL {
		_ = p.Kill() // gone already: nothing to do
	}
}
