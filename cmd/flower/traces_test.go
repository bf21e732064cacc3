package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveCollector is the command collector FILE: it takes spans and appends what it gets to
// the file, and points flower at it.
func serveCollector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collector FILE")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" || r.Header.Get("X-Team") != "blue" {
			http.Error(w, "not for us", http.StatusForbidden)
			return
		}
		if _, err := io.Copy(f, r.Body); err != nil {
			ts.Logf("collector: %v", err)
		}
	}))
	ts.Defer(func() {
		server.Close()
		if err := f.Close(); err != nil {
			ts.Logf("collector: %v", err)
		}
	})
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	ts.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
}
