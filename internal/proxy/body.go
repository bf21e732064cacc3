package proxy

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// describe reads what a request's body says of itself. A body that is not what it
// should be is passed on all the same: refusing it is the provider's.
func describe(body []byte) Request {
	var in struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		Thinking  struct {
			Budget int `json:"budget_tokens"`
		} `json:"thinking"`
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(body, &in)
	return Request{Model: in.Model, MaxTokens: in.MaxTokens, Thinking: in.Thinking.Budget, Tools: len(in.Tools), Bytes: len(body)}
}

// withMaxTokens is the body with another max_tokens and every other byte as it
// was.
func withMaxTokens(body []byte, n int) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return body
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return body
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return body
		}
		if key == "max_tokens" {
			end := int(d.InputOffset())
			out := append([]byte{}, body[:end-len(value)]...)
			out = strconv.AppendInt(out, int64(n), 10)
			return append(out, body[end:]...)
		}
	}
	return body
}
