package proxy

import (
	"bytes"
	"encoding/json"
	"slices"
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

// with is the body with another value of a field that it has, and every other byte
// as it was.
func with(body []byte, field, value string) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return body
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return body
		}
		var old json.RawMessage
		if err := d.Decode(&old); err != nil {
			return body
		}
		if key == field {
			end := int(d.InputOffset())
			return slices.Concat(body[:end-len(old)], []byte(value), body[end:])
		}
	}
	return body
}
