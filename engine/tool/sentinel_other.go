//go:build !linux

package tool

// startSentinel starts none where the system does not show other processes'
// environment.
func startSentinel() (quit func()) { return func() {} }
