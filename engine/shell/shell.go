// Package shell decides whether a shell command line is ephemeral: it changes
// nothing, and what it prints goes stale. One answer serves both "may a
// coordinator run this at a glance" and "may this result be dropped later".
//
// The nouns:
//
//   - A line is what a model hands to its shell: one command or a whole
//     script of pipes, loops and substitutions. It is parsed as bash.
//   - The tables (folder tables) list the commands known to only read, each
//     with the options known to only read. They are the one place to extend.
//   - An [Explanation] names the part of the line that decided, and why.
//
// A line is ephemeral when every simple command in it, wherever it stands, is
// in the tables with nothing but known options, and nothing else in the line
// writes, runs or keeps anything. In doubt the answer is no: an option that is
// not listed, a command word that is not literal, an argument that could turn
// into an option once the shell expands it.
//
//	shell.Ephemeral("git status -s && git log --oneline -5") // true
//	shell.Ephemeral("git branch topic")                      // false
//	fmt.Println(shell.Explain("ls; rm -rf x"))
//	// not ephemeral: `rm` at 1:5: rm changes files
//
// What is judged is the line alone. A command on the PATH that only borrows a
// listed name, an alias, or a setting of the user that makes a reader run
// something are outside of it: the line is no sandbox.
//
// All functions are safe for concurrent use and touch nothing but their
// argument.
package shell

import "fmt"

// MaxLen is the longest line in bytes that can be ephemeral. A glance is
// short; the bound keeps hostile input cheap.
const MaxLen = 16000

// Ephemeral reports whether the line only reads. It is false for an empty or
// comment-only line, for one that does not parse, and for one longer than
// [MaxLen]. It never blocks, runs nothing and reads no file.
func Ephemeral(command string) bool {
	j := newJudge(command)
	defer j.free()
	return j.line()
}

// Explanation is the verdict on a line with its reason. The zero value is of
// no line.
type Explanation struct {
	Ephemeral bool   // as [Ephemeral] says, always
	Part      string // the text of the line that decided; the line itself where every part passed
	Line      int    // where Part begins, counted from 1
	Col       int    // in bytes, counted from 1
	Reason    string // one sentence: what is wrong and, where there is a way, how to write it
}

// Explain gives the verdict of [Ephemeral] and the first part that decided it,
// for a denial or a person who asks. It costs little more than Ephemeral.
func Explain(command string) Explanation {
	j := newJudge(command)
	defer j.free()
	if j.line() {
		return Explanation{
			Ephemeral: true, Part: command, Line: 1, Col: 1,
			Reason: "every command in it is known to only read",
		}
	}
	return j.explanation()
}

// shown bounds how much of the deciding part String quotes, in runes.
const shown = 80

// String is the explanation on one line.
func (e Explanation) String() string {
	if e.Ephemeral {
		return "ephemeral: " + e.Reason
	}
	part := []rune(e.Part)
	for i, r := range part {
		if r == '\n' || r == '\r' || i == shown {
			part = append(part[:i:i], '…')
			break
		}
	}
	if len(part) == 0 {
		return "not ephemeral: " + e.Reason
	}
	return fmt.Sprintf("not ephemeral: `%s` at %d:%d: %s", string(part), e.Line, e.Col, e.Reason)
}
