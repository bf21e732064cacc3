package messagesapi

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRaw compares the readers that only look for ends with encoding/json.
func FuzzRaw(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"a":1,"b":[1,{"c":"]}\""}],"c" : null }`, ` [ 1 , "a\\" , {"x":{}} ] `, `"x"`, `-1.5e3`, `{"a"`, `{"a":`,
		`{"cache_control":{"type":"ephemeral"},"content":[{"cache_control":1,"text":"a b"}]}`, `{"\u0061":true,"é":"\ud83d\ude00"}`, `{"a":[}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, isObject := fields(raw)
		list, isList := elements(raw)
		plain := canonical(raw)
		if checkJSON(raw) != nil {
			return // then only that they return matters
		}
		var wantList []json.RawMessage
		if err := json.Unmarshal(raw, &wantList); (err == nil && wantList != nil) != isList || len(list) != len(wantList) {
			t.Fatalf("elements: %q, %v; want %q", list, isList, wantList)
		}
		for i := range list {
			if !bytes.Equal(list[i], wantList[i]) {
				t.Fatalf("element %d: %q, want %q", i, list[i], wantList[i])
			}
		}
		var wantObject map[string]json.RawMessage
		if err := json.Unmarshal(raw, &wantObject); (err == nil && wantObject != nil) != isObject {
			t.Fatalf("fields of %q: %v", raw, isObject)
		}
		last := map[string]json.RawMessage{} // of a name given twice encoding/json keeps the last
		for _, f := range object {
			last[f.name] = f.value
		}
		for name, want := range wantObject {
			if got := last[name]; !bytes.Equal(got, want) {
				t.Fatalf("field %q: %q, want %q", name, got, want)
			}
		}
		if !json.Valid(plain) {
			t.Fatalf("canonical form %q of %q is not JSON", plain, raw)
		}
		if bytes.ContainsAny(raw, "c\\") { // may have lost a breakpoint
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil || !bytes.Equal(plain, compact.Bytes()) {
			t.Fatalf("canonical form %q, want %q", plain, compact.Bytes())
		}
	})
}
