package claudecode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded are the lines that the program wrote in a recording.
func recorded(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := lines.ReadBytes('\n')
		var entry struct {
			Dir  string
			Line json.RawMessage
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := json.Unmarshal(line, &entry); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		if entry.Dir == "out" {
			out.Write(entry.Line)
			out.WriteByte('\n')
		}
		if err != nil {
			return out.Bytes()
		}
	}
}

// tell is a frame in one line: what the harness acts on.
func tell(f frame) string {
	s := f.Type
	add := func(format string, args ...any) { s += " " + fmt.Sprintf(format, args...) }
	if f.Subtype != "" {
		s += "/" + f.Subtype
	}
	switch f.Type {
	case "control_request":
		add("%s %s%s tool=%s call=%s agent=%s", f.Request.Subtype, f.Request.CallbackID, f.Request.ServerName, f.Request.ToolName, f.Request.ToolUseID, f.Request.AgentID)
	case "control_response":
		add("%s of %s %s", f.Response.Subtype, f.Response.RequestID, f.Response.Error)
	case "assistant", "user":
		var m message
		if err := lenient(f.Message, &m); err != nil {
			add("unreadable message: %v", err)
		}
		add("parent=%s id=%s error=%s replay=%t synthetic=%t", f.Parent, m.ID, f.Error, f.Replay, f.Synthetic)
		for _, b := range blocks(m.Content) {
			add("[%s %q %s%s%s error=%t]", b.Type, clip(b.Text+texts(b.Content)), b.Name, b.ID, b.ToolUseID, b.IsError)
		}
	case "result":
		add("error=%t status=%d stop=%s end=%s turns=%d cost=%g %q", f.IsError, f.APIErrorStatus, f.StopReason, f.TerminalReason, f.NumTurns, f.CostUSD, clip(f.Result+strings.Join(f.Errors, "|")))
	case "transcript_mirror":
		add("%s %d entries", f.FilePath, len(f.Entries))
	case "system":
		add("task=%s call=%s agent=%s model=%s version=%s attempt=%d/%d status=%d", f.TaskID, f.ToolUseID, f.AgentType, f.Model, f.Version, f.Attempt, f.MaxRetries, f.ErrorStatus)
	}
	return strings.TrimRight(s, " ")
}

func clip(s string) string { return s[:min(len(s), 60)] }

func TestFrames_of_every_recording_are_read_as_they_were_meant(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var got strings.Builder
			for in := newFrames(bytes.NewReader(recorded(t, file))); ; {
				f, err := in.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&got, tell(f))
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("frames differ from %s; run with -update and read the difference\ngot:\n%s", golden, got.String())
			}
		})
	}
}

func TestFrames_cuts_of_the_pipe_change_nothing(t *testing.T) {
	text := strings.Repeat("é漢字🌸", 50_000) // longer than any buffer, with every length of character
	line := `{"type":"assistant","uuid":"u1","message":{"content":"` + text + `"}}` + "\n" + `{"type":"result"}`
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(line), "half": iotest.HalfReader(strings.NewReader(line)), "bytes": iotest.OneByteReader(strings.NewReader(line)),
	} {
		in := newFrames(r)
		f, err := in.next()
		var m message
		if err != nil || json.Unmarshal(f.Message, &m) != nil || texts(m.Content) != text {
			t.Errorf("%s: the text was changed (%v)", name, err)
		}
		if f, err = in.next(); err != nil || f.Type != "result" {
			t.Errorf("%s: the line without an end: %v %v", name, f.Type, err)
		}
		if _, err = in.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: then %v", name, err)
		}
	}
}

func TestFrames_passes_over_what_it_does_not_know(t *testing.T) {
	in := newFrames(strings.NewReader("warning: something\n\n[1,2]\n{broken\n{\"no\":\"type\"}\n{\"type\":\"news\",\"error\":{\"a\":1},\"tools\":7,\"is_error\":true}\n"))
	f, err := in.next()
	if err != nil || f.Type != "news" || !f.IsError || f.Error != "" {
		t.Errorf("%+v %v", f, err)
	}
	if _, err := in.next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestFrames_mends_what_is_no_unicode(t *testing.T) {
	f, ok := parseFrame([]byte("{\"type\":\"assistant\",\"message\":{\"content\":\"a\xffb\"}}"))
	if !ok || !strings.Contains(string(f.Message), "a\uFFFDb") {
		t.Errorf("%t %q", ok, f.Message)
	}
}

func FuzzFrames(f *testing.F) {
	files, _ := filepath.Glob("testdata/wire/*.jsonl")
	for _, file := range files {
		f.Add(recorded(f, file))
	}
	f.Add([]byte("{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":[null,3]}]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := newFrames(bytes.NewReader(data))
		for range bytes.Count(data, []byte{'\n'}) + 1 {
			fr, err := in.next()
			if err != nil {
				break
			}
			if fr.Type == "" {
				t.Fatal("a frame without a type")
			}
			var m message
			if lenient(fr.Message, &m) == nil {
				for _, b := range blocks(m.Content) {
					texts(b.Content)
				}
			}
			for _, e := range fr.Entries {
				if !json.Valid(e) {
					t.Fatalf("an entry that is no JSON: %q", e)
				}
			}
		}
		if _, err := in.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("more frames than lines, or %v", err)
		}
	})
}
