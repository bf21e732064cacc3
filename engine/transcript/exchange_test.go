package transcript_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowerlua/flower/engine/transcript"
)

func TestImport_and_Export_of_Claude_Codes_files_change_no_byte(t *testing.T) {
	files, err := filepath.Glob("testdata/claude_*.jsonl")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		entries, report, err := transcript.Import(bytes.NewReader(file), nil)
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("%s: %s %v, %v", name, report, report.Problems, err)
		}
		var out bytes.Buffer
		if err := transcript.Export(&out, seq(entries, nil)); err != nil || !bytes.Equal(out.Bytes(), file) {
			t.Errorf("%s: %v, exported\n%s", name, err, out.Bytes())
		}
	}
}

func TestImport_makes_a_session_that_can_go_on(t *testing.T) {
	file, err := os.ReadFile("testdata/claude_main.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.SplitAfter(file, []byte("\n"))
	file = bytes.Join(cut[:8], nil) // killed while the subagent ran
	entries, _, err := transcript.Import(bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	appended, report := transcript.Repair(entries, transcript.RepairOptions{})
	if len(appended) != 1 || report.Cut[0].Name != "Agent" {
		t.Fatalf("repaired %+v", report)
	}
	entries = append(entries, appended...)
	live, err := transcript.Live(entries, "")
	if err != nil {
		t.Fatal(err)
	}
	view, viewed := transcript.View(live, heals())
	if viewed.Healed != 0 || len(view) != len(entries) {
		t.Errorf("the view of %d entries has %d: %+v", len(entries), len(view), viewed)
	}
	var out bytes.Buffer
	if err := transcript.Export(&out, seq(entries, nil)); err != nil || !bytes.HasPrefix(out.Bytes(), file) {
		t.Errorf("%v: what was there is exported otherwise", err)
	}
}

func importText(t *testing.T, text string, o *transcript.ImportOptions) (string, transcript.ImportReport) {
	t.Helper()
	entries, report, err := transcript.Import(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Loaded != len(entries) {
		t.Errorf("%d entries, reported %d", len(entries), report.Loaded)
	}
	return uuids(entries), report
}

func TestImport_saves_what_can_be_saved(t *testing.T) {
	const a, b, c = `{"uuid":"a","type":"user"}`, `{"uuid":"b","type":"user","x":{"type":"text"}}`, `{"type":"user","uuid":"c"}`
	for name, tc := range map[string]struct {
		text string
		want string
		says string
	}{
		"whole":                       {a + "\n" + b + "\n", "a b", ""},
		"no end of line, and \\r":     {a + "\r\n" + b, "a b", ""},
		"a byte order mark":           {"\xef\xbb\xbf" + a + "\n\n  \n" + b, "a b", ""},
		"empty":                       {"", "", ""},
		"the last line is cut":        {a + "\n" + b[:20], "a", "line 2: torn: 20 bytes"},
		"cut in the middle":           {a + "\n" + b[:30] + "\n" + c, "a c", "line 2: torn: 30 bytes"},
		"cut, and the next behind it": {a[:12] + b + "\n" + c, "b c", `line 1: torn: 12 bytes are no entry: "{\"uuid\":\"a\","`},
		"cut twice":                   {a[:12] + a[:12] + c, "c", "line 1: torn: 24 bytes"},
		"two on a line":               {a + b + "\n" + c, "a b c", "line 1: torn: two entries, both whole"},
		"whole, then cut, then whole": {a + b[:30] + c, "a c", "line 1: torn: 30 bytes"},
		"a part is no entry":          {`"x":1,"y":[{"type":"text"}]}` + "\n" + a, "a", "line 1: torn"},
		"something else":              {"[1,2]\nnull\nhello\n" + a, "a", "line 3: torn"},
		"zero bytes before":           {"\x00\x00\x00" + a + "\n" + b, "a b", "line 1: zeroed: 3 zero bytes"},
		"zero bytes between":          {a + "\x00\x00" + b[:20] + "\n\x00\x00\n" + c, "a c", "line 1: torn: 20 bytes"},
		"zero bytes inside":           {"{\"uuid\":\"x\x00\",\"type\":\"user\"}\n" + a, "a", "line 1: zeroed"},
		"a uuid twice":                {a + "\n" + a + "\n" + c, "a c", "line 2: duplicate: uuid a"},
		"a type nobody knows":         {`{"uuid":"n","type":"novelty"}`, "n", `line 1: unknown type: "novelty"`},
		"not UTF-8":                   {"{\"uuid\":\"u\",\"type\":\"user\",\"x\":\"\xf0\"}\n" + a, "u a", "line 1: bad text: uuid u"},
		"half a pair":                 {`{"uuid":"u","type":"user","x":"\ud834"}`, "u", "line 1: bad text: uuid u"},
		"a missing parent":            {`{"uuid":"u","type":"user","parentUuid":"p"}`, "u", "line 1: missing parent: parent p of u"},
	} {
		t.Run(name, func(t *testing.T) {
			got, report := importText(t, tc.text, nil)
			var said []string
			for _, p := range report.Problems {
				said = append(said, p.String())
			}
			if all := strings.Join(said, "\n"); got != tc.want || !strings.Contains(all, tc.says) || tc.says == "" && all != "" {
				t.Errorf("got %q, %s\n%s\nwant %q, %q", got, report, all, tc.want, tc.says)
			}
		})
	}
}

func TestImport_reports_a_cycle_once(t *testing.T) {
	got, report := importText(t, `{"uuid":"a","type":"user","parentUuid":"c"}
{"uuid":"b","type":"user","parentUuid":"a"}
{"uuid":"c","type":"user","parentUuid":"b"}
{"uuid":"d","type":"user","parentUuid":"c"}
{"uuid":"e","type":"user","parentUuid":"e"}`, nil)
	if got != "a b c d e" || report.Counts[transcript.Cycle] != 2 || report.Problems[0].Line != 1 {
		t.Errorf("got %q, %v", got, report.Problems)
	}
}

func TestImport_lists_so_many_problems_and_counts_all(t *testing.T) {
	_, report := importText(t, strings.Repeat("{\n", 1000), nil)
	if len(report.Problems) != 100 || report.Counts[transcript.Torn] != 1000 || report.String() != "0 of 1000 lines loaded, 1000 torn" {
		t.Errorf("%d listed: %s", len(report.Problems), report)
	}
}

func TestImport_takes_huge_lines_up_to_the_limit(t *testing.T) {
	line := func(uuid string, size int) string {
		return fmt.Sprintf(`{"uuid":%q,"type":"user","x":%q}`, uuid, strings.Repeat("x", size))
	}
	text := line("a", 10) + "\n" + line("b", 300_000) + "\n" + line("c", 10) + "\n" + line("d", 100_000)
	if got, report := importText(t, text, nil); got != "a b c d" {
		t.Errorf("got %q, %s", got, report)
	}
	got, report := importText(t, text, &transcript.ImportOptions{MaxLine: 200_000})
	if got != "a c d" || report.Problems[0].String() != "line 2: too long: 300033 bytes; the limit is 200000" {
		t.Errorf("got %q, %v", got, report.Problems)
	}
}

func TestImport_hands_on_the_error_of_the_reader(t *testing.T) {
	r := io.MultiReader(strings.NewReader("{\"uuid\":\"a\"}\n{\"uuid\":"), iotest.ErrReader(io.ErrUnexpectedEOF))
	entries, _, err := transcript.Import(r, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "line 2") || uuids(entries) != "a" {
		t.Errorf("got %q, %v", uuids(entries), err)
	}
}

func FuzzImport_of_anything(f *testing.F) {
	f.Add([]byte("{\"uuid\":\"a\"}\n\x00{\"uuid\":\"b\"}{\"uuid\":\"c\"\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		entries, _, err := transcript.Import(bytes.NewReader(file), &transcript.ImportOptions{MaxLine: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := transcript.Export(&out, seq(entries, nil)); err != nil {
			t.Fatal(err)
		}
		again, report, err := transcript.Import(&out, nil)
		if err != nil || len(again) != len(entries)-prefixes(entries) || report.Counts[transcript.Torn] > 0 {
			t.Fatalf("%d entries, %d again, %s, %v", len(entries), len(again), report, err)
		}
	})
}

func prefixes(entries []transcript.Entry) (n int) {
	for _, e := range entries {
		if e.Type == "system" && e.Subtype == transcript.PrefixSubtype {
			n++
		}
	}
	return n
}

func TestExport_writes_one_line_an_entry_and_no_prefix(t *testing.T) {
	entries := parseAll(t, "{\n \"uuid\": \"a\",\n \"x\": \"1 <&> 2\"\n}",
		`{"uuid":"p","parentUuid":"a","type":"system","subtype":"flower_prefix"}`,
		`{"uuid":"p2","parentUuid":"p","type":"system","subtype":"flower_prefix"}`,
		`{"uuid":"b","parentUuid":"p2","type":"user"}`, `{"type":"mode"}`)
	var out bytes.Buffer
	if err := transcript.Export(&out, seq(entries, nil)); err != nil {
		t.Fatal(err)
	}
	want := "{\"uuid\":\"a\",\"x\":\"1 <&> 2\"}\n{\"uuid\":\"b\",\"parentUuid\":\"a\",\"type\":\"user\"}\n{\"type\":\"mode\"}\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestExport_hands_on_errors(t *testing.T) {
	entries := chain(t, says("x"))
	var out bytes.Buffer
	if err := transcript.Export(&out, seq(entries, transcript.ErrDamaged)); !errors.Is(err, transcript.ErrDamaged) || out.Len() == 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	full := errors.New("disk full")
	if err := transcript.Export(failing{full}, seq(entries, nil)); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	big := chain(t, says(strings.Repeat("x", 100_000)), says("y"))
	if err := transcript.Export(failing{full}, seq(big, nil)); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
