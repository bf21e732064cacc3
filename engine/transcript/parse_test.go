package transcript_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

func TestParse_reads_what_stands_in_an_entry(t *testing.T) {
	raw := []byte(`{"parentUuid":"p","isSidechain":true,"isMeta":true,"type":"assistant","subtype":"odd","uuid":"u",` +
		`"timestamp":"2026-01-02T05:04:05.678+02:00","isApiErrorMessage":true,"isCompactSummary":true,"toolDenialKind":"user-rejected",` +
		`"message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"{\"type\":\"tool_use\"}"},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"id":"not this","type":"tool_result"}},` +
		`{"is_error":true,"tool_use_id":"t0","content":[{"type":"tool_use","id":"nor this"}],"type":"tool_result"},` +
		`{"type":"tool_result","tool_use_id":"t\u0039","is_error":false}]}}`)
	got, err := transcript.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := transcript.Header{
		UUID: "u", Parent: "p", Type: "assistant", Subtype: "odd", Role: "assistant", MessageID: "msg_1", Size: len(raw),
		Time:     time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
		ToolUses: []string{"t1"}, ToolResults: []string{"t0", "t9"},
		Flags: transcript.Meta | transcript.APIError | transcript.Sidechain | transcript.CompactSummary | transcript.ErrorResult | transcript.Denied,
	}
	if !reflect.DeepEqual(got.Told(), want) {
		t.Errorf("got %+v\nwant %+v", got.Header, want)
	}
	if &got.Raw[0] != &raw[0] {
		t.Error("the bytes were copied")
	}
}

func TestParse_takes_odd_entries_as_they_are(t *testing.T) {
	for raw, want := range map[string]transcript.Header{
		`{}`: {},
		" \n{\"uuid\" : \"u\" , \"message\" : null}\r":                                         {UUID: "u"},
		`{"uuid":7,"type":["user"],"parentUuid":null}`:                                         {},
		`{"uuid":"first","uuid":"last"}`:                                                       {UUID: "last"},
		`{"isMeta":true,"isMeta":false}`:                                                       {},
		`{"isMeta":"true","timestamp":"yesterday"}`:                                            {},
		`{"message":{"role":"user","content":"words"}}`:                                        {Role: "user"},
		`{"message":[{"role":"user"}]}`:                                                        {},
		`{"\u0075uid":"u","type":"us\u0065r"}`:                                                 {UUID: "u", Type: "user"},
		`{"message":{"content":[7,null,[],{"type":"tool_use"},{"type":"tool_use","id":"t"}]}}`: {ToolUses: []string{"", "t"}},
	} {
		want.Size = len(raw)
		got, err := transcript.Parse([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if !reflect.DeepEqual(got.Told(), want) {
			t.Errorf("%s: got %+v, want %+v", raw, got.Header, want)
		}
	}
}

func TestParse_refuses_what_is_no_object(t *testing.T) {
	for raw, says := range map[string]string{
		``: "unexpected end", `{"uuid":"u"`: "unexpected end", `{"uuid":"u"}}`: "after top-level value",
		`[{"uuid":"u"}]`: "not a JSON object", `null`: "not a JSON object", `"{}"`: "not a JSON object", "{\"a\":\"\x00\"}": "invalid character",
	} {
		if _, err := transcript.Parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestParse_marks_text_that_is_no_Unicode(t *testing.T) {
	for raw, broken := range map[string]bool{
		`{"a":"é𝄞"}`: false, `{"a":"\ud834\udd1e"}`: false, `{"a":"\uD834\uDD1E\u00e9"}`: false,
		`{"a":"\\ud834"}`: false, `{"a":"\\\\ud834"}`: false, `{"a":"\ue000 \ud7ff"}`: false,
		`{"a":"\ud834"}`: true, `{"a":"\udd1e\ud834"}`: true, `{"a":"\ud834\ud834\udd1e"}`: true, `{"a":"\\\ud834x"}`: true,
		`{"a":"\ud834\\udd1e"}`: true, `{"\udd1e":1}`: true, "{\"a\":\"\xf0\"}": true, "{\"a\":\"\xed\xa0\x80\"}": true,
	} {
		e, err := transcript.Parse([]byte(raw))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if got := e.Flags.Has(transcript.NotUnicode); got != broken {
			t.Errorf("%q: marked %v, want %v", raw, got, broken)
		}
	}
}

func FuzzParse_agrees_with_encoding_json(f *testing.F) {
	for _, c := range viewCases(f) {
		for _, raw := range c.Entries {
			f.Add([]byte(raw))
		}
	}
	f.Add([]byte("{\"message\" : {\"content\":[ {\"type\":\"tool_use\",\"id\":\"\\\\\\\"\"} ,\t7 ] } , \"uuid\":\"\\ud834\" }"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := transcript.Parse(raw)
		var all map[string]any
		if bad := json.Unmarshal(raw, &all) != nil || all == nil; bad != (err != nil) {
			t.Fatalf("%q: %v, but encoding/json: %v", raw, err, bad)
		}
		if err != nil {
			return
		}
		message, _ := all["message"].(map[string]any)
		uses, results := callIDs(message["content"])
		same(t, "uuid", e.UUID, text(all["uuid"]))
		same(t, "parent", e.Parent, text(all["parentUuid"]))
		same(t, "type", e.Type, text(all["type"]))
		same(t, "role", e.Role, text(message["role"]))
		same(t, "message", e.MessageID, text(message["id"]))
		same(t, "meta", e.Flags.Has(transcript.Meta), all["isMeta"] == true)
		same(t, "uses", e.ToolUses, uses)
		same(t, "results", e.ToolResults, results)
	})
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func callIDs(content any) (uses, results []string) {
	list, _ := content.([]any)
	for _, item := range list {
		b, _ := item.(map[string]any)
		switch b["type"] {
		case "tool_use":
			uses = append(uses, text(b["id"]))
		case "tool_result":
			results = append(results, text(b["tool_use_id"]))
		}
	}
	return uses, results
}
