package main

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/flowerlua/flower/internal/otlp"
)

// lastSpans is how long the end of a run waits for a collector.
const lastSpans = 5 * time.Second

// traceSink sends a run's spans to the collector that the environment names. nil is
// one that sends nothing.
type traceSink struct {
	provider *sdktrace.TracerProvider
	complain func(text string)

	mu      sync.Mutex
	trouble error // the first one
}

// startTrace reads the variables of OpenTelemetry. Its errors are wrong usage.
func startTrace(getenv func(string) string, complain func(text string)) (*traceSink, error) {
	config, err := otlp.FromEnv(getenv)
	if err != nil {
		return nil, wrongUse("%v", err)
	}
	if config.URL == "" {
		return nil, nil
	}
	t := &traceSink{provider: otlp.Provider(config, nil), complain: complain}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.note))
	otel.SetTracerProvider(t.provider)
	return t, nil
}

func (t *traceSink) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trouble == nil {
		t.trouble = err
	}
}

// flush sends what is left and says what could not be sent: a run is no failure
// because nobody watched it.
func (t *traceSink) flush() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.note(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trouble != nil {
		t.complain("traces: " + t.trouble.Error())
	}
}
