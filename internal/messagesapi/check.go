package messagesapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// check refuses what the API refuses, in its words as far as they are known, and
// returns how the cache serves the request. generate is false for counting.
func (s *Server) check(c *call, generate bool) (cachePlan, error) {
	r := &c.seen.Request
	m, found := s.model(r.Model)
	switch {
	case r.Model == "":
		return cachePlan{}, invalid("model: Field required")
	case !found:
		return cachePlan{}, &Error{Status: http.StatusNotFound, Message: "model: " + r.Model}
	}
	if generate {
		if err := checkMaxTokens(r, &c.body, m); err != nil {
			return cachePlan{}, err
		}
	}
	if len(c.body.unknown) > 0 && r.Header.Get("anthropic-beta") == "" {
		return cachePlan{}, invalid("%s: Extra inputs are not permitted", c.body.unknown[0])
	}
	steps := []func(*Request) error{
		checkTools,
		func(r *Request) error { return checkTexts("system", r.System) },
		s.checkRoles, checkContents, checkImages, checkPairs,
		func(r *Request) error { return s.checkThinking(r, &c.body) },
		func(r *Request) error { return checkBreakpoints(r, &c.body) },
	}
	for _, step := range steps {
		if err := step(r); err != nil {
			return cachePlan{}, err
		}
	}
	units := promptUnits(r, &c.body)
	r.Tokens = units[len(units)-1].tokens
	if r.Tokens > m.Window {
		return cachePlan{}, invalid("prompt is too long: %d tokens > %d maximum", r.Tokens, m.Window)
	}
	return s.planCache(units), nil
}

func checkMaxTokens(r *Request, p *parsedBody, m Model) error {
	switch {
	case !p.hasMaxTokens:
		return invalid("max_tokens: Field required")
	case r.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case r.MaxTokens > m.MaxOutput:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, m.MaxOutput, r.Model)
	}
	var thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	}
	if len(p.thinking) > 0 {
		if err := decode("thinking", p.thinking, &thinking); err != nil {
			return err
		}
	}
	if thinking.Type == "enabled" && thinking.Budget < 1024 {
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	}
	if thinking.Budget >= r.MaxTokens {
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	return nil
}

const toolNamePattern = `^[a-zA-Z0-9_-]{1,128}$`

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(toolNamePattern) })

func checkTools(r *Request) error {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		if !toolName().MatchString(t.Name) {
			return invalid("tools.%d.custom.name: String should match pattern '%s'", i, toolNamePattern)
		}
		if seen[t.Name] {
			return invalid("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
	}
	return nil
}

// checkTexts refuses empty text blocks, also in tool results.
func checkTexts(path string, blocks []Block) error {
	for _, b := range blocks {
		switch {
		case b.Type == "text" && b.Text == "" && b.CacheTTL != "":
			return invalid("%s: cache_control cannot be set for empty text blocks", path)
		case b.Type == "text" && b.Text == "":
			return invalid("%s: text content blocks must be non-empty", path)
		case b.Type == "text" && strings.TrimSpace(b.Text) == "":
			return invalid("%s: text content blocks must contain non-whitespace text", path)
		}
	}
	return nil
}

// checkRoles refuses a conversation that is none. System messages, which may
// stand between the turns, are passed over.
func (s *Server) checkRoles(r *Request) error {
	if len(r.Messages) == 0 {
		return invalid("messages: at least one message is required")
	}
	last := ""
	for i, m := range r.Messages {
		switch m.Role {
		case "user", "assistant":
		case "system":
			continue
		default:
			return invalid("messages.%d.role: Input should be 'user', 'assistant' or 'system'", i)
		}
		if last == "" && m.Role != "user" {
			return invalid(`messages: first message must use the "user" role`)
		}
		if m.Role == last && !s.opts.MergeRoles {
			return invalid(`messages: roles must alternate between "user" and "assistant", but found multiple %q roles in a row`, m.Role)
		}
		last = m.Role
	}
	if end := r.Messages[len(r.Messages)-1]; end.Role == "assistant" && !s.wasPaused(end) {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// userBlocks and assistantBlocks are the client-side types a role may send; types
// of server tools, which end alike, may come from either.
var (
	userBlocks      = map[string]bool{"text": true, "image": true, "document": true, "tool_result": true, "search_result": true}
	assistantBlocks = map[string]bool{"text": true, "thinking": true, "redacted_thinking": true, "tool_use": true}
)

func checkContents(r *Request) error {
	for i, m := range r.Messages {
		if len(m.Content) == 0 {
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		if err := checkTexts("messages", m.Content); err != nil {
			return err
		}
		for j, b := range m.Content {
			if userBlocks[b.Type] != assistantBlocks[b.Type] && userBlocks[b.Type] != (m.Role == "user") && b.Type != "text" {
				return invalid("messages.%d.content.%d: %q blocks are not permitted in messages of the role %q", i, j, b.Type, m.Role)
			}
			if err := checkTexts("messages", b.Content); err != nil {
				return err
			}
			if b.Type != "tool_use" {
				continue
			}
			if _, isObject := fields(b.Input); !isObject {
				return invalid("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
			}
			if !toolName().MatchString(b.Name) {
				return invalid("messages.%d.content.%d.tool_use.name: String should match pattern '%s'", i, j, toolNamePattern)
			}
		}
	}
	return nil
}

// checkPairs refuses tool calls without their results right behind them, and
// results without their calls.
func checkPairs(r *Request) error {
	seen := map[string]bool{}
	var open []string // ids of the calls in the message before
	for i, m := range r.Messages {
		if m.Role == "system" {
			continue
		}
		results, err := leadingResults(i, m, open)
		if err != nil {
			return err
		}
		var missing []string
		for _, id := range open {
			if !results[id] {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			return unpaired(i-1, missing)
		}
		open = nil
		for _, b := range m.Content {
			if b.Type != "tool_use" {
				continue
			}
			if seen[b.ID] {
				return invalid("messages.%d: `tool_use` ids must be unique", i)
			}
			seen[b.ID] = true
			open = append(open, b.ID)
		}
	}
	if len(open) > 0 {
		return unpaired(len(r.Messages)-1, open)
	}
	return nil
}

func unpaired(message int, ids []string) error {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(ids, ", "))
}

// leadingResults are the ids answered at the beginning of a message. A result
// behind other content counts as missing, as it does for the API.
func leadingResults(i int, m Message, open []string) (map[string]bool, error) {
	answered := map[string]bool{}
	leading := true
	for j, b := range m.Content {
		if b.Type != "tool_result" {
			leading = false
			continue
		}
		asked := false
		for _, id := range open {
			asked = asked || id == b.ToolUseID
		}
		if !asked {
			return nil, invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
		}
		if answered[b.ToolUseID] {
			return nil, invalid("messages.%d.content.%d: each tool_use must have a single result. "+
				"Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)
		}
		if leading {
			answered[b.ToolUseID] = true
		}
	}
	return answered, nil
}

// checkBreakpoints refuses a fifth breakpoint, one where none may be, and a long
// one behind a short one.
func checkBreakpoints(r *Request, p *parsedBody) error {
	type point struct{ path, ttl string }
	var points []point
	mark := func(path, ttl string) {
		if ttl != "" {
			points = append(points, point{path, ttl})
		}
	}
	for _, t := range r.Tools {
		mark("tools", t.CacheTTL)
	}
	for _, b := range r.System {
		mark("system", b.CacheTTL)
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			for _, inner := range b.Content {
				mark("messages", inner.CacheTTL)
			}
			mark("messages", b.CacheTTL)
			if b.CacheTTL != "" && strings.HasSuffix(b.Type, "thinking") {
				return invalid("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, j, b.Type)
			}
		}
	}
	mark("cache_control", p.cacheTTL)
	if len(points) > 4 {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(points))
	}
	for i := 1; i < len(points); i++ {
		if points[i].ttl == "1h" && points[i-1].ttl == "5m" {
			return invalid("%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "+
				"Note that blocks are processed in the following order: `tools`, `system`, `messages`.", points[i].path)
		}
	}
	return nil
}

// thinkingOff tells whether the request turns thinking off.
func (p *parsedBody) thinkingOff() bool {
	var t struct {
		Type string `json:"type"`
	}
	return len(p.thinking) > 0 && json.Unmarshal(p.thinking, &t) == nil && t.Type == "disabled"
}
