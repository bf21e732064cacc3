package atomicfile

import "sync/atomic"

// Change is one change of a file by this package.
type Change struct {
	Path string
	Data []byte // what is written; nil for a file that is moved away
	// Appended: Data goes behind what is there, instead of replacing it.
	Appended bool
	// Made: the change has been made; else it is about to be.
	Made bool
}

var watcher atomic.Pointer[func(Change) error]

// Watch is for tests that let a process end at one of its writes. From now on f is
// called before and after every change, on the goroutine that makes it; an error
// before it keeps the change from being made, and is the error of the call either
// way. There is one watcher at a time; stop ends it.
func Watch(f func(Change) error) (stop func()) {
	watcher.Store(&f)
	return func() { watcher.CompareAndSwap(&f, nil) }
}

// watched makes a change under the eyes of the watcher.
func watched(c Change, do func() error) error {
	f := watcher.Load()
	if f == nil {
		return do()
	}
	if err := (*f)(c); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	c.Made = true
	return (*f)(c)
}
