package tool

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzEdit: replacing changes the bytes of the matches and no other, and apart
// from line ends does what replacing in a text without carriage returns does.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n"), "a\nb", "x\ny", false)
	f.Add([]byte("\ufeffa\xff\r\n\r\r\na"), "a", "\n", true)
	f.Add([]byte("aaaa"), "aa", "a", true)
	f.Add([]byte("x\n\r\n\n"), "\n", "", true)
	f.Add([]byte("a\r\nb\r\n"), "a\r\nb", "c", true)
	f.Fuzz(func(t *testing.T, text []byte, old, new string, all bool) {
		if old == "" || old == new {
			t.Skip("refused before")
		}
		found := findAll(text, old, !all)
		if len(found) == 0 || !all && len(found) > 1 {
			if bytes.Contains(text, []byte(old)) && len(found) == 0 {
				t.Fatalf("%q is in %q and was not found", old, text)
			}
			return
		}
		got := replaceAll(text, found, old, new)
		first, last := found[0], found[len(found)-1]
		if !bytes.HasPrefix(got, text[:first.from]) || !bytes.HasSuffix(got, text[last.to:]) {
			t.Errorf("%q for %q in %q: bytes beside the match changed: %q", new, old, text, got)
		}
		at := 0
		for _, s := range found {
			if s.from < at || s.to <= s.from || s.to > len(text) {
				t.Fatalf("matches %v of %q in %q", found, old, text)
			}
			if m := text[s.from:s.to]; string(m) != old && string(plain(m)) != old {
				t.Errorf("%q was taken for %q", m, old)
			}
			at = s.to
		}
		if strings.Contains(old+new, "\r") || bytes.Contains(bytes.ReplaceAll(text, []byte("\r\n"), nil), []byte("\r")) {
			return // what counts as a line end is not plain any more
		}
		if want := bytes.ReplaceAll(plain(text), []byte(old), []byte(new)); !bytes.Equal(plain(got), want) {
			t.Errorf("%q for %q in %q gave %q, want %q apart from line ends", new, old, text, got, want)
		}
	})
}

func plain(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
