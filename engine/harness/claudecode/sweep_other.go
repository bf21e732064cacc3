//go:build !linux

package claudecode

// sweep would end what the program has left running. Other systems do not show
// the environment of a process cheaply; there the program's own clearing up, on
// the end of its input and on the interrupt, has to do.
func sweep(string) {}
