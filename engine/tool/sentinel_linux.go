package tool

import (
	"os"
	"os/exec"
	"syscall"
)

// sentinelScript asks what carries the token to end, then forces it, and what it
// starts meanwhile.
const sentinelScript = `
read -r _ && exit
signal=TERM
for pause in 1 .2 .2 .2 .2 .2 .2 .2 .2 .2; do
  found=
  for file in $(grep -ls "$1" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -s $signal "${pid%/environ}" && found=1
  done
  [ "$found" ] || exit
  sleep $pause
  signal=KILL
done
`

// startSentinel does nothing where there is no shell to run it.
func startSentinel() (quit func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", sentinelScript, "flower-sentinel", token)
	cmd.Dir, cmd.Stdin = "/", r
	// It carries the mark of an engine above us, which may end it, and no secrets.
	cmd.Env = []string{markVariable + "=" + os.Getenv(markVariable), "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return func() {}
	}
	return func() {
		_, _ = w.Write([]byte("all is over\n")) // it may be gone
		w.Close()
		_ = cmd.Wait()
	}
}
