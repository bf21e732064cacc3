package otlp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowerlua/flower/internal/otlp"
)

func TestFromEnv_what_the_variables_mean(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want otlp.Config
	}{
		{"nothing set", nil, otlp.Config{}},
		{"a base endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"},
			otlp.Config{URL: "http://localhost:4318/v1/traces", Service: "flower"}},
		{"the endpoint of traces is taken as it is", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://b/in"},
			otlp.Config{URL: "https://b/in", Service: "flower"}},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"}, otlp.Config{}},
		{"no exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, otlp.Config{}},
		{"headers, names and attributes", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "x-team=blue%20one, x-b=2",
			"OTEL_SERVICE_NAME": "night", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,host.name=box"},
			otlp.Config{URL: "http://a/v1/traces", Service: "night", Headers: map[string]string{"x-team": "blue one", "x-b": "2"}, Attributes: map[string]string{"host.name": "box"}}},
	} {
		got, err := otlp.FromEnv(func(k string) string { return c.env[k] })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(got.Headers) == 0 {
			got.Headers = nil
		}
		if len(got.Attributes) == 0 {
			got.Attributes = nil
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestFromEnv_mistakes_name_the_variable_and_no_secret(t *testing.T) {
	for _, c := range []struct{ key, value string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://a"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hush-hush"},
		{"OTEL_RESOURCE_ATTRIBUTES", "=x"},
	} {
		env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", c.key: c.value}
		_, err := otlp.FromEnv(func(k string) string { return env[k] })
		if err == nil || !strings.Contains(err.Error(), c.key) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
	}
}

func TestProvider_sends_spans_as_a_collector_reads_them(t *testing.T) {
	var body, kind, team string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, kind, team = string(b), r.Header.Get("Content-Type"), r.Header.Get("X-Team")
	}))
	defer collector.Close()
	p := otlp.Provider(otlp.Config{URL: collector.URL + "/v1/traces", Service: "flower", Headers: map[string]string{"x-team": "blue"}}, nil)
	tracer := p.Tracer("scope")
	ctx, outer := tracer.Start(context.Background(), "outer")
	_, inner := tracer.Start(ctx, "inner", trace.WithSpanKind(trace.SpanKindClient))
	inner.SetAttributes(attribute.Int64("tokens", 1<<60), attribute.Bool("yes", true), attribute.Float64("share", 0.5),
		attribute.String("word", "é"), attribute.StringSlice("reasons", []string{"end_turn"}))
	inner.SetStatus(codes.Error, "it broke")
	inner.End()
	outer.End()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if kind != "application/json" || team != "blue" {
		t.Errorf("content type %q, header %q", kind, team)
	}
	var got struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value map[string]any
				}
			}
			ScopeSpans []struct {
				Spans []map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if a := got.ResourceSpans[0].Resource.Attributes[0]; a.Key != "service.name" || a.Value["stringValue"] != "flower" {
		t.Errorf("resource %v", a)
	}
	spans := got.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 2 || spans[0]["parentSpanId"] != spans[1]["spanId"] || spans[0]["traceId"] != spans[1]["traceId"] || len(spans[0]["traceId"].(string)) != 32 {
		t.Errorf("spans %v", spans)
	}
	if spans[0]["kind"] != 3.0 || spans[1]["kind"] != 1.0 {
		t.Errorf("kinds %v and %v", spans[0]["kind"], spans[1]["kind"])
	}
	for _, want := range []string{`{"key":"tokens","value":{"intValue":"1152921504606846976"}}`, `{"key":"yes","value":{"boolValue":true}}`,
		`{"key":"share","value":{"doubleValue":0.5}}`, `{"key":"word","value":{"stringValue":"é"}}`,
		`{"key":"reasons","value":{"arrayValue":{"values":[{"stringValue":"end_turn"}]}}}`, `"status":{"message":"it broke","code":2}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

func TestProvider_says_what_a_collector_refused(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	defer collector.Close()
	var told []string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { told = append(told, err.Error()) }))
	p := otlp.Provider(otlp.Config{URL: collector.URL, Service: "flower", Headers: map[string]string{"authorization": "hush"}}, nil)
	_, s := p.Tracer("scope").Start(context.Background(), "one")
	s.End()
	if err := p.Shutdown(context.Background()); err != nil {
		told = append(told, err.Error())
	}
	if all := strings.Join(told, " "); !strings.Contains(all, "1 spans are lost") || !strings.Contains(all, "403") || strings.Contains(all, "hush") {
		t.Errorf("told: %s", all)
	}
}
