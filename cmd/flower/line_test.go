package main

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// typed is a line after keys were pressed, with a | at the cursor, and the lines
// that were entered.
func typed(t *testing.T, l *line, keys string) (shown string, entered []string) {
	t.Helper()
	in := newKeyReader(strings.NewReader(keys))
	for {
		k, err := in.read()
		if err == io.EOF {
			return l.text[:l.at] + "|" + l.text[l.at:], entered
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, done := l.press(k); done {
			entered = append(entered, text)
		}
	}
}

func TestLine_keys(t *testing.T) {
	const family, accent = "👩‍👩‍👧", "e\u0301"
	for keys, want := range map[string]string{
		"abc":                                "abc|",
		"abc\x1b[D\x1b[DX":                   "aX|bc",
		"abc\x01X\x05Y":                      "XabcY|",
		"abc\x1b[HX\x1b[FY":                  "XabcY|",
		"abc\x1bOHX\x1bOFY":                  "XabcY|",
		"你好\x7f":                             "你|",
		family + "x\x1b[D\x7f":               "|x",
		"a" + accent + "\x7f":                "a|",
		"ab\x1b[D\x04":                       "a|",
		"ab\x1b[3~":                          "ab|",
		"one two\x17":                        "one |",
		"一　二\x17":                            "一　|",
		"one two\x1bb\x1bbX\x1bfY":           "XoneY| two",
		"one two\x1b[1;5DX":                  "one X|two",
		"one two\x1bb\x0b":                   "one |",
		"one two\x1bb\x15":                   "|two",
		"a\x1b\x7fb":                         "b|",
		"a\x1b\nb":                           "a\nb|",
		"\x1b[200~a\x1b[31mb\rc\x1b[201~d":   "ab\ncd|",
		"\x1b[200~quit\n\x1b[201~":           "quit\n|",
		"a\x1b[12;34Rb\x1b[99~c\x1b[>1;2mxy": "abcxy|",
		"a\x00\x02\x1b":                      "|a",
		"\x1b[200~a\tb\t\x1b[31mc\x1b[201~":  "a\tb\tc|",
		"tab\there":                          "tab here|",
		"\xff":                               "\ufffd|",
	} {
		if got, entered := typed(t, &line{}, keys); got != want || entered != nil {
			t.Errorf("%q gives %q, not %q (entered %q)", keys, got, want, entered)
		}
	}
}

func TestLine_a_mark_joins_the_character_before(t *testing.T) {
	l := &line{}
	if got, _ := typed(t, l, "e\u0301x\x1b[D\x1b[D"); got != "|e\u0301x" {
		t.Errorf("%q", got)
	}
}

func TestLine_history(t *testing.T) {
	l := &line{}
	_, entered := typed(t, l, "one\ntwo\ntwo\n\n")
	if strings.Join(entered, ",") != "one,two,two," {
		t.Errorf("entered %q", entered)
	}
	for keys, want := range map[string]string{
		"draft\x1b[A":                       "two|",
		"\x15draft\x1b[A\x1b[A":             "one|",
		"\x15draft\x10\x10\x10\x10":         "one|",
		"\x15draft\x10\x10\x0e\x0e":         "draft|",
		"\x15draft\x1b[A\x1b[B\x1b[B\x1b[B": "draft|",
	} {
		fresh := &line{history: l.history}
		if got, _ := typed(t, fresh, keys); got != want {
			t.Errorf("%q gives %q, not %q", keys, got, want)
		}
	}
}

func TestLine_is_bounded(t *testing.T) {
	l := &line{}
	long := strings.Repeat("宽", maxLine)
	in := newKeyReader(strings.NewReader("\x1b[200~" + long + "\x1b[201~x"))
	k, err := in.read()
	if err != nil || !k.cut || len(k.text) > maxLine {
		t.Fatalf("%d bytes, cut %v, %v", len(k.text), k.cut, err)
	}
	l.press(k)
	l.press(k)
	if len(l.text) > maxLine || strings.Contains(l.text, "\ufffd\ufffd") {
		t.Errorf("%d bytes", len(l.text))
	}
	if next, err := in.read(); err != nil || next.text != "x" {
		t.Errorf("after the paste: %+v, %v", next, err)
	}
}

func TestLine_layout(t *testing.T) {
	for _, c := range []struct {
		text        string
		at          int
		rows        string
		row, column int
	}{
		{"", 0, "> ", 0, 2},
		{"abc", 3, "> abc", 0, 5},
		{"abcdefgh", 8, "> abcdefgh/  ", 1, 2}, // the cursor needs a cell of its own
		{"abcdefghi", 8, "> abcdefgh/  i", 1, 2},
		{"abcdefg宽", 10, "> abcdefg/  宽", 1, 4},
		{"a\nb\n", 4, "> a/  b/  ", 2, 2},
		{"a\tb", 2, "> a    b", 0, 7}, // a tab is shown as spaces
		{"abcdef\tb", 7, "> abcdef/      b", 1, 6},
		{"a\nb", 1, "> a/  b", 0, 3},
		{"宽宽宽宽宽", 0, "> 宽宽宽宽/  宽", 0, 2},
	} {
		l := &line{text: c.text, at: c.at}
		rows, row, column := l.layout("> ", 10)
		if got := strings.Join(rows, "/"); got != c.rows || row != c.row || column != c.column {
			t.Errorf("%q: %q, cursor %d %d", c.text, got, row, column)
		}
	}
}

// FuzzLine presses any keys; the line stays one that can be shown.
func FuzzLine(f *testing.F) {
	f.Add("abc\x1b[D\x7f\x17宽\u0301\x1b[200~x\x1b[201~\n\x10", 10)
	f.Add("👩‍👩‍👧\x1b[D\x1b[3~\u200d", 3)
	f.Fuzz(func(t *testing.T, keys string, width int) {
		l := &line{}
		in := newKeyReader(iotest.OneByteReader(strings.NewReader(keys)))
		for {
			k, err := in.read()
			if err != nil {
				break
			}
			l.press(k)
		}
		if l.at < 0 || l.at > len(l.text) || cleanTyped(l.text) != l.text {
			t.Fatalf("cursor %d in %q", l.at, l.text)
		}
		width = 4 + max(width, -width)%100
		rows, row, column := l.layout("> ", width)
		if row >= len(rows) || column > width {
			t.Fatalf("cursor at %d %d of %q", row, column, rows)
		}
	})
}
