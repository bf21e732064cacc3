package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flowerlua/flower/engine"
)

// tree is every span with the path of its ancestors.
func tree(spans tracetest.SpanStubs) []string {
	byID := map[string]tracetest.SpanStub{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID().String()] = s
	}
	var out []string
	for _, s := range spans {
		path := s.Name
		for p, ok := byID[s.Parent.SpanID().String()]; ok; p, ok = byID[p.Parent.SpanID().String()] {
			path = p.Name + " > " + path
		}
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func attributeOf(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

func TestRun_traces_what_it_does_and_not_what_was_said(t *testing.T) {
	seen := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(seen))
	old := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	defer otel.SetTracerProvider(old)

	api := caller("Bash", `{"command":"echo confidential; exit 3"}`)
	defer api.Close()
	rt, done := open(api.URL())
	defer done()
	coder := engine.Spec{Name: "coder", Model: "claude-sonnet-5-5", AllowedTools: []string{"Bash"}}
	flow := &engine.Workflow{Name: "fix", Steps: []engine.Step{{Name: "work", Spec: coder, Prompt: engine.Text("A confidential task."),
		Gate: func(context.Context, engine.Result, engine.Context) (bool, string, error) { return false, "", nil }}}}
	if _, err := rt.RunWorkflow(context.Background(), flow, engine.WorkflowOptions{}); err != nil {
		t.Fatal(err)
	}
	got := seen.GetSpans()
	const agent = "invoke_workflow fix > invoke_agent coder"
	want := []string{"invoke_workflow fix", agent, agent + " > chat claude-sonnet-5-5", agent + " > chat claude-sonnet-5-5", agent + " > execute_tool Bash"}
	if g := tree(got); !slices.Equal(g, want) {
		t.Errorf("spans\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(want, "\n"))
	}
	for _, s := range got {
		switch {
		case strings.HasPrefix(s.Name, "chat") && (attributeOf(s, "gen_ai.usage.output_tokens") == "0" || attributeOf(s, "gen_ai.conversation.id") == ""),
			strings.HasPrefix(s.Name, "execute_tool") && s.Status.Code != codes.Error,
			strings.HasPrefix(s.Name, "invoke_agent") && attributeOf(s, "flower.step") != "work",
			strings.HasPrefix(s.Name, "invoke_workflow") && s.Status.Code != codes.Error:
			t.Errorf("span %s: %v %v", s.Name, s.Attributes, s.Status)
		}
	}
	if all := fmt.Sprint(got); strings.Contains(all, "confidential") {
		t.Errorf("a span holds what was said: %s", all)
	}
}
