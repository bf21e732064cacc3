package transcript

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzStrings_agree_with_encoding_json(f *testing.F) {
	for _, s := range []string{
		``, `plain`, `\"\\\/\b\f\n\r\t`, `é𝄞`, `\u00e9\ud834\udd1e`, `\ud834`, `\udd1e\ud834x`, `\ud834\u0041`, `\\ud834`, "\xf0\x9d", "\u2028<&>", `\uFFFD`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, inner []byte) {
		quoted := append(append([]byte{'"'}, inner...), '"')
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			return
		}
		if got, ok := textAt(quoted, span{0, len(quoted)}); !ok || got != want {
			t.Errorf("%q decoded to %q, want %q", quoted, got, want)
		}
		if utf8.Valid(inner) {
			if got := chars(inner); got != utf8.RuneCountInString(want) {
				t.Errorf("%q has %d characters, counted %d", quoted, utf8.RuneCountInString(want), got)
			}
		}
		var back string
		if err := json.Unmarshal(appendQuoted(nil, want), &back); err != nil || back != want {
			t.Errorf("%q encoded to %s: %v", want, appendQuoted(nil, want), err)
		}
		mended := mendUnicode(quoted)
		if !isUnicode(mended) || isUnicode(quoted) && !bytes.Equal(mended, quoted) {
			t.Errorf("%q mended to %q", quoted, mended)
		}
		var same string
		if json.Unmarshal(mended, &same) != nil || same != want {
			t.Errorf("%q mended to %q, which says %q", quoted, mended, same)
		}
	})
}

func TestAppendQuoted_writes_valid_JSON_of_anything(t *testing.T) {
	for _, text := range []string{"\xff<b>\x00\x1f\"\\\n\t\r", "", "𝄞\xf0"} {
		out := appendQuoted(nil, text)
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Errorf("%q became %q", text, out)
		}
		if bytes.Contains([]byte(text), []byte("<")) && !bytes.Contains(out, []byte("<b>")) {
			t.Errorf("%q became %q: the model reads escapes", text, out)
		}
	}
}

// Scanning must stop, and not panic, on what no Parse has accepted.
func FuzzScan_of_anything_ends(f *testing.F) {
	f.Add([]byte(`{"message":{"content":[{"type":"tool_use"`))
	f.Add([]byte(`{"a":1,}`))
	f.Add([]byte(" "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		scanHeader(raw)
		contentBlocks(raw, func(string) bool { return true })
		for f := range fields(raw, whole(raw)) {
			if f.val.hi > len(raw) || f.val.lo >= f.val.hi {
				t.Fatalf("field %q at %v of %d bytes", f.key, f.val, len(raw))
			}
		}
	})
}
