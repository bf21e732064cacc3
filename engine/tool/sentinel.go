package tool

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// A process that is killed cannot end what it started. So while there is something
// to end, a sentinel runs beside it, in a session of its own: it waits on a pipe,
// which the system closes with us, and then ends every process with our token in
// its environment. It ends itself, and nothing else, when it is told that all is
// over.

// token begins the marks of this process, and of no other.
var token = fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())

var sentinel struct {
	mu    sync.Mutex
	users int
	quit  func()
}

// watchOver keeps a sentinel until done is called. It may be called more than once.
func watchOver() (done func()) {
	sentinel.mu.Lock()
	defer sentinel.mu.Unlock()
	if sentinel.users++; sentinel.users == 1 {
		sentinel.quit = startSentinel()
	}
	return sync.OnceFunc(func() {
		sentinel.mu.Lock()
		defer sentinel.mu.Unlock()
		if sentinel.users--; sentinel.users == 0 {
			sentinel.quit()
		}
	})
}
