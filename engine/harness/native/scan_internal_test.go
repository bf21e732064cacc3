package native

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestScan_finds_members_and_elements_wherever_they_stand(t *testing.T) {
	raw := []byte(` { "a" : [1, "x,]}", {"b":"\"}"} , []] ,"text":"t\u0041","n":-1.5e3 , "o":{"a":{}}} `)
	list, ok := elements(member(raw, "a"))
	if !ok || len(list) != 4 || string(list[1]) != `"x,]}"` || string(list[2]) != `{"b":"\"}"}` {
		t.Errorf("elements: %s", list)
	}
	if got := text(member(raw, "text")); got != "tA" {
		t.Errorf("text: %q", got)
	}
	if got := string(member(raw, "n")); got != "-1.5e3" {
		t.Errorf("n: %s", got)
	}
	if member(raw, "none") != nil || member([]byte(`[1]`), "a") != nil || text(nil) != "" {
		t.Error("something was found that is not there")
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":[1,{"b":"}"}],"c":"\\"}`, `{"a"`, `{"a":`, `[`, `{"a":"`, `{"\u0061":{}}`, ` { } `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		names := map[string]json.RawMessage{}
		members(raw, func(n string, v json.RawMessage) bool { names[n] = v; return true })
		if !json.Valid(raw) {
			return // it must only not panic
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		for n, v := range want {
			got, ok := names[n]
			if !ok && bytes.ContainsAny(raw, `\`) {
				continue // a name with escapes is passed as it stands
			}
			if !utf8.Valid(raw) {
				continue
			}
			if !ok || !bytes.Equal(got, v) {
				t.Errorf("%q: member %q is %s, want %s", raw, n, got, v)
			}
		}
	})
}

func FuzzMend(f *testing.F) {
	for _, s := range []string{`"a"`, `"\ud83d"`, `"\ud83d\ude00"`, `"\\ud83d"`, `"\udead\ud83d\ude00"`, "\"\xff\"", `"\uD83D\n"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		before := bytes.Clone(raw)
		got := mend(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("the input was changed")
		}
		if !json.Valid(got) || !utf8.Valid(got) {
			t.Fatalf("%q became %q, which is no JSON", raw, got)
		}
		// The same value, as far as Go reads it, which mends in the same way.
		var was, is any
		if json.Unmarshal(raw, &was) == nil && utf8.Valid(raw) {
			if err := json.Unmarshal(got, &is); err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(was)
			b, _ := json.Marshal(is)
			if !bytes.Equal(a, b) {
				t.Fatalf("%q became %q", raw, got)
			}
		}
		if again := mend(got); !bytes.Equal(again, got) {
			t.Fatalf("mending %q twice gives %q", got, again)
		}
	})
}

func TestScan_with_member_replaces_one_value_and_keeps_the_rest(t *testing.T) {
	cases := map[string]string{
		`{"a":1,"id":"x","b":[1, 2]}`: `{"a":1,"id":"y","b":[1, 2]}`,
		`{"a": 1}`:                    `{"id":"y","a":1}`,
		`{}`:                          `{"id":"y"}`,
	}
	for in, want := range cases {
		if got := string(withMember([]byte(in), "id", json.RawMessage(`"y"`))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
