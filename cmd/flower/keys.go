package main

import (
	"bufio"
	"io"
	"strings"
	"unicode"
)

// keyCode says what a key does; keyText enters its text.
type keyCode int

const (
	keyNone keyCode = iota
	keyText
	keyEnter
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyKillToEnd
	keyKillToStart
	keyKillWord
	keyRedraw
	keySuspend
)

// key is one press of a key, or a paste.
type key struct {
	code keyCode
	text string
	cut  bool // a paste that was longer than maxLine
}

// keyReader makes keys of what a terminal sends. Sequences it does not know do
// nothing.
type keyReader struct{ in *bufio.Reader }

func newKeyReader(in io.Reader) *keyReader { return &keyReader{bufio.NewReader(in)} }

var controls = map[rune]keyCode{
	'\r': keyEnter, '\n': keyEnter, 0x7f: keyBackspace, 'H' - '@': keyBackspace,
	'A' - '@': keyHome, 'B' - '@': keyLeft, 'D' - '@': keyDelete, 'E' - '@': keyEnd, 'F' - '@': keyRight,
	'K' - '@': keyKillToEnd, 'L' - '@': keyRedraw, 'N' - '@': keyDown, 'P' - '@': keyUp,
	'U' - '@': keyKillToStart, 'W' - '@': keyKillWord, 'Z' - '@': keySuspend,
}

// read gives the next key; the error is the input's.
func (k *keyReader) read() (key, error) {
	r, _, err := k.in.ReadRune()
	switch {
	case err != nil:
		return key{}, err
	case r == 0x1b:
		return k.escape()
	case r == '\t':
		return key{code: keyText, text: " "}, nil
	case unicode.IsControl(r):
		return key{code: controls[r]}, nil
	}
	return key{code: keyText, text: string(r)}, nil
}

// escape reads what follows an ESC. Pressed alone it does nothing; the rest of a
// sequence comes with it, so that what is there only later is a key of its own.
func (k *keyReader) escape() (key, error) {
	if k.in.Buffered() == 0 {
		return key{}, nil
	}
	next, _, err := k.in.ReadRune()
	if err != nil {
		return key{}, err
	}
	switch next {
	case '[':
		return k.sequence()
	case 'O':
		final, _, err := k.in.ReadRune()
		return key{code: arrows[string(final)]}, err
	case 'b':
		return key{code: keyWordLeft}, nil
	case 'f':
		return key{code: keyWordRight}, nil
	case 0x7f:
		return key{code: keyKillWord}, nil
	case '\r', '\n':
		return key{code: keyText, text: "\n"}, nil
	}
	return key{}, k.in.UnreadRune()
}

// arrows are the ends of the sequences that ESC [ begins.
var arrows = map[string]keyCode{
	"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "H": keyHome, "F": keyEnd,
	"1~": keyHome, "7~": keyHome, "4~": keyEnd, "8~": keyEnd, "3~": keyDelete,
	"1;5C": keyWordRight, "1;3C": keyWordRight, "1;5D": keyWordLeft, "1;3D": keyWordLeft,
}

// maxSequence bounds what is read as one sequence.
const maxSequence = 32

func (k *keyReader) sequence() (key, error) {
	var b strings.Builder
	for b.Len() < maxSequence {
		c, err := k.in.ReadByte()
		if err != nil {
			return key{}, err
		}
		b.WriteByte(c)
		if c >= 0x40 && c <= 0x7e {
			break
		}
	}
	if b.String() == "200~" {
		return k.paste()
	}
	return key{code: arrows[b.String()]}, nil
}

const pasteEnd = "\x1b[201~"

// paste reads what was pasted, which is text whatever it looks like.
func (k *keyReader) paste() (key, error) {
	var b strings.Builder
	var tail []byte // the last bytes, where the end shows
	cut := false
	for string(tail) != pasteEnd {
		c, err := k.in.ReadByte()
		if err != nil {
			return key{}, err
		}
		if tail = append(tail, c); len(tail) > len(pasteEnd) {
			tail = tail[1:]
		}
		if cut = cut || b.Len() >= maxLine; !cut {
			b.WriteByte(c)
		}
	}
	text := strings.TrimSuffix(b.String(), pasteEnd)
	return key{code: keyText, text: text, cut: cut}, nil
}
