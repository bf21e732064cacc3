// Package otlp sends spans to a collector in OpenTelemetry's own protocol, as JSON
// over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). The official
// exporter brings protocol buffers and gRPC along, 4 MB of memory and 5 MB of
// program in every run that traces nothing.
//
//	provider := otlp.Provider(otlp.FromEnv(os.Getenv), nil)
//	defer provider.Shutdown(ctx)
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Config says where spans go. The zero Config is that nothing is traced.
type Config struct {
	URL     string            // of the collector, with its path; empty: nothing is traced
	Headers map[string]string // of every request; may hold secrets
	Service string            // service.name
	// Attributes describe the program, beside service.name.
	Attributes map[string]string
}

// FromEnv reads the variables that OpenTelemetry's specification names: an endpoint
// turns tracing on, OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none off. Only
// the protocol http/json is spoken; one that is named and is not it is an error.
func FromEnv(getenv func(string) string) (Config, error) {
	first := func(names ...string) (name, value string) {
		for _, n := range names {
			if v := strings.TrimSpace(getenv(n)); v != "" {
				return n, v
			}
		}
		return "", ""
	}
	if exporter := getenv("OTEL_TRACES_EXPORTER"); strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" {
		return Config{}, nil
	}
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return Config{}, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Config{}, fmt.Errorf("%s is not a URL of http or https, such as http://localhost:4318", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return Config{}, fmt.Errorf("%s is %q; spans are sent as http/json only: use the collector's port for HTTP, usually 4318", name, protocol)
	}
	name, list := first("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	headers, err := pairs(name, list)
	if err != nil {
		return Config{}, err
	}
	attributes, err := pairs("OTEL_RESOURCE_ATTRIBUTES", getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return Config{}, err
	}
	c := Config{URL: u.String(), Headers: headers, Attributes: attributes, Service: getenv("OTEL_SERVICE_NAME")}
	if c.Service == "" {
		c.Service = attributes["service.name"]
	}
	if c.Service == "" {
		c.Service = "flower"
	}
	delete(attributes, "service.name")
	return c, nil
}

// pairs reads key=value,key=value, with values that may be percent-encoded.
// Errors do not show the values.
func pairs(name, list string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(key) == "" {
			return nil, fmt.Errorf("%s is not a list like key=value,key=value", name)
		}
		out[strings.TrimSpace(key)] = value
	}
	return out, nil
}

// Provider makes a provider that gathers spans and sends them in the background.
// Spans that wait are bounded; those that find no room are dropped. Shutdown sends
// the rest. A collector that cannot be reached harms nothing.
func Provider(c Config, client *http.Client) *sdktrace.TracerProvider {
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	about := []attribute.KeyValue{attribute.String("service.name", c.Service)}
	for k, v := range c.Attributes {
		about = append(about, attribute.String(k, v))
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithResource(sdkresource.NewSchemaless(about...)),
		sdktrace.WithBatcher(&exporter{config: c, client: client}))
}

type exporter struct {
	config Config
	client *http.Client
}

// Shutdown has nothing to close.
func (e *exporter) Shutdown(context.Context) error { return nil }

// ExportSpans sends one request. Errors name the collector's host, no header.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(request(spans))
	if err != nil {
		return fmt.Errorf("spans cannot be written as JSON: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the collector's address is no URL")
	}
	for k, v := range e.config.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("%d spans are lost: %w", len(spans), err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return fmt.Errorf("the collector's answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%d spans are lost: the collector at %s answered %s", len(spans), req.URL.Host, resp.Status)
	}
	return nil
}
