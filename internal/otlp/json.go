package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The shapes of opentelemetry/proto/trace/v1/trace.proto as its JSON mapping has
// them: ids in hex, 64-bit numbers as texts.
type (
	export struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     status     `json:"status"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// request groups spans by scope; all have the resource of their provider.
func request(spans []sdktrace.ReadOnlySpan) export {
	all := resourceSpans{Resource: resource{Attributes: keyValues(spans[0].Resource().Attributes())}}
	at := map[string]int{}
	for _, s := range spans {
		name := s.InstrumentationScope().Name
		i, ok := at[name]
		if !ok {
			i = len(all.ScopeSpans)
			at[name] = i
			all.ScopeSpans = append(all.ScopeSpans, scopeSpans{Scope: scope{Name: name, Version: s.InstrumentationScope().Version}})
		}
		all.ScopeSpans[i].Spans = append(all.ScopeSpans[i].Spans, spanOf(s))
	}
	return export{ResourceSpans: []resourceSpans{all}}
}

func spanOf(s sdktrace.ReadOnlySpan) span {
	out := span{
		TraceID:    s.SpanContext().TraceID().String(),
		SpanID:     s.SpanContext().SpanID().String(),
		Name:       s.Name(),
		Kind:       int(s.SpanKind()), // the numbers are the same
		Start:      nanoseconds(s.StartTime()),
		End:        nanoseconds(s.EndTime()),
		Attributes: keyValues(s.Attributes()),
		Status:     status{Message: s.Status().Description},
	}
	if s.Parent().SpanID().IsValid() {
		out.ParentID = s.Parent().SpanID().String()
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status.Code = 2
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		out = append(out, keyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return out
}

// value is an AnyValue.
func value(v attribute.Value) any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]bool{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]string{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]float64{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		values := []any{}
		for _, s := range v.AsStringSlice() {
			values = append(values, map[string]string{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	case attribute.STRING:
		return map[string]string{"stringValue": v.AsString()}
	}
	return map[string]string{"stringValue": v.String()}
}
