package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

func TestRun_what_is_not_the_api_is_asked_once(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("content-type", "text/html")
			_, _ = io.WriteString(w, "<html></html>")
		},
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"redirect": http.RedirectHandler("https://login.example/", http.StatusFound).ServeHTTP,
	} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			answer(w, r)
		}))
		cmd := exec.Command(flowerCommand(t), "once", "hi")
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL=" + server.URL}
		out, err := cmd.CombinedOutput()
		if n := asked.Load(); err == nil || n != 1 || !strings.Contains(string(out), "wrong_address") {
			t.Errorf("%s: asked %d times, %v:\n%s", name, n, err, out)
		}
		server.Close()
	}
}
