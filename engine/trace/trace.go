// Package trace marks what a run does as spans of OpenTelemetry, by its
// conventions for generative AI (gen_ai.*): a workflow holds the agents its steps
// run, an agent its requests and its calls, a call of Agent the subagent's.
//
// Spans go to the provider that the program has given to OpenTelemetry
// (otel.SetTracerProvider); without one they cost next to nothing and go nowhere.
// gen_ai.provider.name is anthropic for every request: it names the API that is spoken,
// whichever model or endpoint answers. No span holds a prompt, an answer, an input or a result.
//
//	ctx, end := trace.Call(ctx, "Bash", id)
//	result := run(ctx)
//	end(result.IsError)
//
// Each function opens a span below the one in ctx and returns a context that holds
// it. The function that comes with it ends the span, and is called once.
package trace

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowerlua/flower/engine/model"
)

// Scope is the name under which the spans are made.
const Scope = "github.com/flowerlua/flower"

// textLimit is how much of an error's text a span holds, in bytes.
const textLimit = 500

func start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return otel.Tracer(Scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// fail notes why a span is no success; "" notes nothing.
func fail(s trace.Span, class, text string) {
	if class == "" {
		return
	}
	if len(text) > textLimit {
		text = text[:textLimit]
	}
	s.SetAttributes(attribute.String("error.type", class))
	s.SetStatus(codes.Error, text)
}

// Workflow is a run of a workflow; failedAt is the step that stopped it, "" when it
// came to its end.
func Workflow(ctx context.Context, name, run string) (_ context.Context, end func(failedAt string)) {
	ctx, s := start(ctx, "invoke_workflow "+name, trace.SpanKindInternal,
		attribute.String("gen_ai.operation.name", "invoke_workflow"),
		attribute.String("gen_ai.workflow.name", name),
		attribute.String("flower.run", run))
	return ctx, func(failedAt string) {
		if failedAt != "" {
			fail(s, "step_failed", "step "+failedAt)
		}
		s.End()
	}
}

// Outcome is how an agent's work ended.
type Outcome struct {
	Session string
	Stop    string // why it ended, as the manifest has it
	OK      bool
	Usage   model.Usage // of main thread and subagents together
}

// Agent is an agent's work on one prompt, repeated attempts included; label is the
// step's.
func Agent(ctx context.Context, name, label, run string) (_ context.Context, end func(Outcome)) {
	ctx, s := start(ctx, "invoke_agent "+name, trace.SpanKindInternal,
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", name),
		attribute.String("flower.step", label),
		attribute.String("flower.run", run))
	return ctx, func(o Outcome) {
		s.SetAttributes(attribute.String("gen_ai.conversation.id", o.Session))
		s.SetAttributes(usage(o.Usage)...)
		if !o.OK {
			fail(s, o.Stop, o.Stop)
		}
		s.End()
	}
}

// Request is one request to a model.
func Request(ctx context.Context, modelName, session string) (_ context.Context, end func(model.Reply, error)) {
	ctx, s := start(ctx, "chat "+modelName, trace.SpanKindClient,
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "anthropic"),
		attribute.String("gen_ai.request.model", modelName),
		attribute.String("gen_ai.conversation.id", session))
	return ctx, func(r model.Reply, err error) {
		s.SetAttributes(
			attribute.String("gen_ai.response.id", r.ID),
			attribute.String("gen_ai.response.model", r.Model),
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{r.StopReason}))
		s.SetAttributes(usage(r.Usage)...)
		if err != nil {
			fail(s, "request_failed", err.Error())
		}
		s.End()
	}
}

// Call is one call of a tool.
func Call(ctx context.Context, tool, id string) (_ context.Context, end func(failed bool)) {
	ctx, s := start(ctx, "execute_tool "+tool, trace.SpanKindInternal,
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", tool),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.tool.call.id", id))
	return ctx, func(failed bool) {
		if failed {
			fail(s, "tool_error", "")
		}
		s.End()
	}
}

// usage counts as the conventions do: input tokens include the cache's.
func usage(u model.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int64("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite),
		attribute.Int64("gen_ai.usage.output_tokens", u.Output),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
		attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite),
	}
}
