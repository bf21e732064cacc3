package messagesapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/flowerlua/flower/internal/messagesapi"
)

func ExampleServer() {
	s, err := messagesapi.Start(&messagesapi.Options{Script: func(r messagesapi.Request) messagesapi.Turn {
		return messagesapi.Turn{Blocks: []messagesapi.Block{messagesapi.Text("You said: " + r.Prompt())}}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	s.Enqueue(messagesapi.Turn{Error: &messagesapi.Error{Status: 529}}) // goes before the script

	for range 2 {
		body := `{"model":"claude-test","max_tokens":100,"messages":[{"role":"user","content":"Hello."}]}`
		req, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("x-api-key", "test-key")
		req.Header.Set("anthropic-version", messagesapi.Version2026)
		req.Header.Set("content-type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		var answer struct {
			Content []struct{ Text string }
			Error   struct{ Type string }
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, answer.Error.Type, answer.Content, err)
	}
	// Output:
	// 529 overloaded_error [] <nil>
	// 200  [{You said: Hello.}] <nil>
}
