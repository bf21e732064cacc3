package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/tool"
)

const searchAbout = `Searches the web and answers with what was found, with the addresses of the sources. For facts that may be newer than you are, for documentation and for error messages. One question a call; read a page in full with WebFetch.`

const searchSchema = `{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},` +
	`"allowed_domains":{"type":"array","items":{"type":"string"},"description":"only results from these domains"},` +
	`"blocked_domains":{"type":"array","items":{"type":"string"},"description":"no results from these domains"}},"required":["query"]}`

// searchTokens is the most that one search answers with.
const searchTokens = 4096

// searcher is the WebSearch tool. The provider searches, in a request of its own,
// so that guards see the call and its result like any other's.
func (t *thread) searcher() tool.Tool {
	return tool.Func{
		Def:  tool.Definition{Name: searchTool, Description: searchAbout, Schema: json.RawMessage(searchSchema), ReadOnly: true},
		Call: t.search,
	}
}

func (t *thread) search(ctx context.Context, c tool.Call) tool.Result {
	var in struct {
		Query   string   `json:"query"`
		Allowed []string `json:"allowed_domains"`
		Blocked []string `json:"blocked_domains"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || strings.TrimSpace(in.Query) == "" {
		return tool.ErrorResult("WebSearch needs a query.")
	}
	if len(in.Allowed) > 0 && len(in.Blocked) > 0 {
		return tool.ErrorResult("allowed_domains and blocked_domains exclude each other. Give one of them.")
	}
	flag := new(object).str("type", "web_search_20250305").str("name", "web_search").any("max_uses", 5)
	if len(in.Allowed) > 0 {
		flag.any("allowed_domains", in.Allowed)
	}
	if len(in.Blocked) > 0 {
		flag.any("blocked_domains", in.Blocked)
	}
	reply, err := t.aside(ctx, c.ID, model.Request{
		Model: t.prefix.Model, MaxTokens: searchTokens,
		Tools:    []json.RawMessage{flag.bytes()},
		Messages: []model.Message{{Role: "user", Content: []json.RawMessage{textBlock(searchOrder + in.Query)}}},
	})
	switch e := (*model.Error)(nil); {
	case errors.Is(err, errBudget):
		return tool.ErrorResult("The budget does not cover a search.")
	case errors.As(err, &e) && failure.Classify(err) == failure.Fatal:
		return tool.ErrorResult("This provider does not search the web. Use WebFetch with an address you know, or go on without.")
	case err != nil:
		return tool.ErrorResult("The search failed. Try once more later, or go on without.")
	}
	return found(reply)
}

const searchOrder = "Search the web for the following and answer with the facts found, each with its source's address. Do not add what no source says.\n\n"

// aside sends a request beside the conversation, for one of its calls, within the
// budget.
func (t *thread) aside(ctx context.Context, call string, req model.Request) (model.Reply, error) {
	req.Meta = model.Meta{Step: t.run.turn.Step, Role: t.role, Session: t.run.session, Agent: t.id, Turn: 1, Call: call, Dir: t.dir}
	input := 0.0
	if p := t.info.Price; p != nil {
		// What the provider reads while it searches is counted as input.
		input = float64(weight(req)/bytesPerToken+searchReads) * p.Input / 1e6
	}
	tokens, held, err := t.run.ledger.reserve(ctx, input, t.info.Price, req.MaxTokens, 0)
	if err != nil {
		return model.Reply{}, err
	}
	req.MaxTokens = tokens
	reply, err := receive(ctx, t.run.h.config.Model, req)
	t.spend(held, reply.Usage, false)
	return reply, err
}

// searchReads is about how many tokens of pages a search reads.
const searchReads = 20_000

// found makes a result of a reply with search results: its prose, and every
// address that it had.
func found(r model.Reply) tool.Result {
	var prose, sources []string
	seen := map[string]bool{}
	for _, raw := range r.Content {
		switch text(member(raw, "type")) {
		case "text":
			prose = append(prose, text(member(raw, "text")))
		case "web_search_tool_result":
			hits, _ := elements(member(raw, "content"))
			for _, hit := range hits {
				if url := text(member(hit, "url")); url != "" && !seen[url] {
					seen[url] = true
					sources = append(sources, fmt.Sprintf("- %s — %s", text(member(hit, "title")), url))
				}
			}
		}
	}
	out := strings.TrimSpace(strings.Join(prose, ""))
	if len(sources) > 0 {
		out += "\n\nSources:\n" + strings.Join(sources, "\n")
	}
	if strings.TrimSpace(out) == "" {
		return tool.ErrorResult("The search brought nothing. Use other words.")
	}
	return tool.TextResult(strings.TrimSpace(out))
}
