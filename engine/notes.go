package engine

import "fmt"

// What a session is told when it goes on. No error text ever enters a context:
// the model would treat it as a fault of its work.

// cutOffNote is the prompt after a failed attempt or a crash.
const cutOffNote = "Your last turn was cut off before its end. Look at what is on disk now, then go on from there; do not start over."

// interruptNote is the prompt after a person's interrupt.
func interruptNote(words string) string {
	note := "A person interrupted you. Calls that were running then report that they were interrupted; that is because of the interruption, not because something in the environment failed. "
	if words == "" {
		return note + "They left no message: go on."
	}
	return note + fmt.Sprintf("They say:\n\n%s", words)
}
