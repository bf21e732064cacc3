package native_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	pngcode "image/png"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	api "github.com/flowerlua/flower/internal/messagesapi"
)

// png is an image of the given size.
func png(w, h int) []byte {
	var b bytes.Buffer
	if err := pngcode.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// F-013, F-014: a host tool's content, whatever it is, never makes a request that
// the provider refuses.
func TestGate_content_that_a_provider_would_refuse_is_replaced_by_words(t *testing.T) {
	noise := func(n int) []byte { return bytes.Repeat([]byte{0x89, 1, 2, 3}, n/4) }
	cases := map[string]struct {
		content tool.Content
		want    string
	}{
		"a small image":          {tool.Content{MediaType: "image/png", Data: png(100, 50)}, ""},
		"an image too wide":      {tool.Content{MediaType: "image/png", Data: png(2001, 10)}, "2001 × 10 pixels"},
		"an image too large":     {tool.Content{MediaType: "image/png", Data: append(png(9, 9), noise(4<<20)...)}, "bytes was left out"},
		"a wrong media type":     {tool.Content{MediaType: "image/jpeg", Data: png(9, 9)}, ""},
		"something else":         {tool.Content{MediaType: "audio/wav", Data: noise(100)}, "audio/wav were left out"},
		"a long document":        {tool.Content{MediaType: "application/pdf", Data: []byte("%PDF-1.4\n" + strings.Repeat("<< /Type /Page >>\n", 101))}, "101 pages"},
		"a document":             {tool.Content{MediaType: "application/pdf", Data: []byte("%PDF-1.4\n<< /Type /Pages >> << /Type /Page >>")}, ""},
		"text that is no UTF-8":  {tool.Content{Text: "a\xf0b\xff"}, "a\uFFFDb\uFFFD"},
		"no text":                {tool.Content{Text: " \n"}, "(no output)"},
		"a text without an end":  {tool.Content{Text: strings.Repeat("目标", 150_000)}, "200000 characters were left out"},
		"a text with everything": {tool.Content{Text: "<b>\x00\u2028\"\\"}, "<b>\x00\u2028\"\\"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.host("gives", true, func(tool.Call) tool.Result {
				return tool.Result{Content: []tool.Content{{Text: "here:"}, c.content}}
			})
			b.host("gives_alone", true, func(tool.Call) tool.Result { return tool.Result{Content: []tool.Content{c.content}} })
			b.server.Enqueue(calls("gives", `{}`, "gives_alone", `{}`), says("Seen."))
			b.mustRun(harness.EndTurn)
			for i, r := range b.last().Results() {
				got := r.Content[len(r.Content)-1]
				if c.want == "" && got.Type == "text" || !strings.Contains(got.Text, c.want) || !utf8.ValidString(got.Text) {
					t.Errorf("result %d: %s %.200q", i, got.Type, got.Text)
				}
			}
		})
	}
}

// F-014
func TestGate_many_large_images_in_an_old_history_are_left_out_once(t *testing.T) {
	b := newBench(t, nil)
	lines := []string{`{"uuid":"u0","type":"user","message":{"role":"user","content":"look"}}`}
	screenshot := imageBlock(1170, 2532)
	for i := range 21 {
		parent := fmt.Sprintf("u%d", i)
		lines = append(lines,
			fmt.Sprintf(`{"uuid":"a%d","parentUuid":%q,"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{}}]}}`, i+1, parent, i),
			fmt.Sprintf(`{"uuid":"u%d","parentUuid":"a%d","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":[{"type":"text","text":"n%d"},%s]}]}}`, i+1, i+1, i, i, screenshot))
	}
	b.memory.imported(t, key("old"), lines...)
	b.resume("old", "And?")
	b.server.Enqueue(says("Twenty-one."), says("Still."))
	b.mustRun(harness.EndTurn)
	if n := len(b.server.Log()); n != 2 {
		t.Errorf("%d requests: one that is refused, one without the images", n)
	}
	if body := string(b.last().Body); strings.Contains(body, "base64") || strings.Count(body, "left out here") != 21 || !strings.Contains(body, `"n20"`) {
		t.Error("the images are not replaced by words")
	}
	b.mustRun(harness.EndTurn)
	if n := len(b.server.Log()); n != 3 {
		t.Errorf("%d requests: what was left out stays out in the next process", n)
	}
}

func imageBlock(w, h int) string {
	data, _ := json.Marshal(png(w, h)) // bytes are written in base64
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":%s}}`, data)
}

// F-015
func TestGate_a_body_that_is_too_large_loses_its_oldest_documents(t *testing.T) {
	b := newBench(t, nil)
	b.config.MaxBody = 256 << 10
	doc := func(i int) string {
		data, _ := json.Marshal(append([]byte("%PDF-1.4 "), bytes.Repeat([]byte{byte('a' + i)}, 60<<10)...))
		return fmt.Sprintf(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":%s}}`, data)
	}
	lines := []string{}
	for i := range 4 {
		lines = append(lines,
			fmt.Sprintf(`{"uuid":"u%d","parentUuid":"a%d","type":"user","message":{"role":"user","content":[%s,{"type":"text","text":"doc %d"}]}}`, i, i-1, doc(i), i),
			fmt.Sprintf(`{"uuid":"a%d","parentUuid":"u%d","type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ok %d"}]}}`, i, i, i))
	}
	b.memory.imported(t, key("old"), lines...)
	b.resume("old", "And?")
	b.server.Enqueue(says("Good."))
	b.mustRun(harness.EndTurn)
	r := b.last()
	if len(r.Body) > 256<<10 || len(b.server.Log()) != 1 {
		t.Errorf("%d bytes in %d requests", len(r.Body), len(b.server.Log()))
	}
	if r.Messages[0].Content[0].Type != "text" || r.Messages[6].Content[0].Type != "document" {
		t.Error("not the oldest were left out")
	}
}

func TestGate_words_alone_over_the_limit_fail_once(t *testing.T) {
	b := newBench(t, nil)
	b.config.MaxBody = 256 << 10
	long, _ := json.Marshal(strings.Repeat("word ", 60<<10))
	b.memory.imported(t, key("old"), fmt.Sprintf(`{"uuid":"u","type":"user","message":{"role":"user","content":%s}}`, long))
	b.resume("old", "And?")
	_, err := b.run()
	if err == nil || !strings.Contains(err.Error(), "not sent") || len(b.server.Log()) != 0 {
		t.Errorf("err = %v, %d requests", err, len(b.server.Log()))
	}
}

// F-016, F-018
func TestGate_stored_text_that_is_no_unicode_is_mended(t *testing.T) {
	b := newBench(t, nil, says("Fine."))
	b.memory.imported(t, key("old"),
		`{"uuid":"1","type":"user","message":{"role":"user","content":[{"type":"text","text":"half \ud83d of a pair"}]}}`,
		"{\"uuid\":\"2\",\"parentUuid\":\"1\",\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"bytes \xf0\x9f here \\ud83d\\ude00\"}]}}")
	b.resume("old", "Go on.")
	b.mustRun(harness.EndTurn)
	m := b.last().Messages
	if got := m[0].Content[0].Text; got != "half \uFFFD of a pair" {
		t.Errorf("%q", got)
	}
	if got := m[1].Content[0].Text; !strings.Contains(got, "\uFFFD") || !strings.HasSuffix(got, "here 😀") {
		t.Errorf("%q", got)
	}
}

// F-008
func TestGate_thinking_and_signatures_go_back_byte_for_byte(t *testing.T) {
	odd := "Tabs\t, quotes \", <tags>, \u2028, emoji 🌸 and \\u escapes."
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.Thinking(odd), api.Redacted("hidden"), api.Text("x"), api.ToolUse("", "Bash", `{ "command" : "echo \u0041" }`)}},
		says("1"), says("2"))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn) // the server compares digests and signatures
	c := b.last().Messages[1].Content
	if len(c) != 4 || c[0].Thinking != odd || c[1].Type != "redacted_thinking" || string(c[3].Input) != `{ "command" : "echo \u0041" }` {
		t.Errorf("sent back: %+v", c)
	}
}

// F-009
func TestGate_thinking_of_another_model_is_left_out(t *testing.T) {
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.Thinking("old thoughts"), api.Text("One."), api.ToolUse("", "Bash", input("command", "true"))}},
		says("Two."), says("Three."))
	out := b.mustRun(harness.EndTurn)
	b.turn.Agent.Model = "claude-opus-5-5"
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if strings.Contains(string(b.last().Body), "old thoughts") {
		t.Error("thinking of the other model was sent")
	}
	if n := len(b.server.Log()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// F-009
func TestGate_thinking_that_is_refused_is_left_out_and_the_request_repeated_once(t *testing.T) {
	b := newBench(t, nil,
		api.Turn{Blocks: []api.Block{api.Thinking("a"), api.Text("One."), api.ToolUse("", "Bash", input("command", "true"))}},
		says("Two."),
		api.Turn{Error: &api.Error{Status: 400, Message: "messages.1.content.0: Invalid `signature` in `thinking` block"}},
		says("Three."), says("Four."))
	out := b.mustRun(harness.EndTurn)
	b.resume(out.SessionID, "Go on.")
	b.mustRun(harness.EndTurn)
	if strings.Contains(string(b.last().Body), `"thinking":"a"`) {
		t.Error("the refused thinking is still there")
	}
	b.mustRun(harness.EndTurn)
	if n := len(b.server.Log()); n != 5 {
		t.Errorf("%d requests: the next process must not try it again", n)
	}
}

// F-084
func TestGate_breakpoints_are_four_at_most_and_the_long_one_comes_first(t *testing.T) {
	b := newBench(t, nil)
	b.host("looks", true, func(tool.Call) tool.Result { return tool.TextResult("x") })
	var many []string
	for range 20 {
		many = append(many, "looks", `{}`)
	}
	b.server.Enqueue(calls("looks", `{}`), calls(many...), says("Done."))
	b.mustRun(harness.EndTurn)
	var points []string
	r := b.last()
	for _, s := range r.System {
		points = append(points, s.CacheTTL)
	}
	for _, m := range r.Messages {
		for i, c := range m.Content {
			if c.CacheTTL != "" {
				points = append(points, fmt.Sprintf("%s:%s:%d", c.CacheTTL, m.Role, i))
			}
		}
	}
	if got := strings.Join(points, " "); got != "1h  5m:user:0 5m:user:4 5m:user:19" {
		t.Errorf("breakpoints: %s", got)
	}
}

func TestGate_slow_provider_is_waited_for(t *testing.T) {
	slow := says("Late.")
	slow.Delay, slow.Pause = 100*time.Millisecond, 5*time.Millisecond
	b := newBench(t, nil, slow)
	b.mustRun(harness.EndTurn)
}
