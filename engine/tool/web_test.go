package tool_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/tool"
)

// site is a server on loopback and a Set that may reach it.
func site(t *testing.T, o tool.Options, h http.HandlerFunc) (*tool.Set, string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.AllowPrivate = true
	return newSet(t, o), server.URL
}

func TestWebFetch_makes_text_of_pages(t *testing.T) {
	pages := map[string]struct{ kind, body, want string }{
		"/html": {"text/html; charset=utf-8", `<html><head><title>T</title><style>p{}</style></head><body><h1>Head</h1><script>alert(1)</script>
<p>Some <b>bold</b> <a href="/next?a=1">link</a></p><table><tr><th>a</th></tr><tr><td>1</td></tr></table></body></html>`, "# Head\n\nSome **bold** [link](URL/next?a=1)\n\n| a |\n|---|\n| 1 |"},
		"/plain":   {"text/plain", "  just text \n", "just text"},
		"/json":    {"application/json", `{"a": 1}`, `{"a": 1}`},
		"/problem": {"application/problem+json", `{"a": 2}`, `{"a": 2}`},
		"/gbk":     {"text/html; charset=gbk", "<p>\xc4\xe3\xba\xc3</p>", "你好"},
		"/meta":    {"text/html", "<meta charset=\"iso-8859-1\"><p>caf\xe9</p>", "café"},
		"/bad":     {"text/plain; charset=utf-8", "a\xffb\x00", "a\uFFFDb\uFFFD"},
		"/late":    {"text/plain", strings.Repeat("x", 3000) + "é", strings.Repeat("x", 3000) + "é"},
		"/late8":   {"text/plain", strings.Repeat("x", 3000) + "\xe9", strings.Repeat("x", 3000) + "é"},
		"/none":    {"", "<!doctype html><p>sniffed", "sniffed"},
		"/empty":   {"text/html", "", "(the page has no text)"},
	}
	s, url := site(t, tool.Options{}, func(w http.ResponseWriter, r *http.Request) {
		p := pages[r.URL.Path]
		w.Header()["Content-Type"] = nil
		if p.kind != "" {
			w.Header().Set("Content-Type", p.kind)
		}
		_, _ = io.WriteString(w, p.body)
	})
	for path, p := range pages {
		if got, want := good(t, s, "WebFetch", in{"url": url + path + "#part", "prompt": "anything"}), strings.ReplaceAll(p.want, "URL", url); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestWebFetch_says_what_went_wrong(t *testing.T) {
	s, url := site(t, tool.Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such page")
		case "/zip":
			w.Header().Set("Content-Type", "application/zip")
			_, _ = w.Write([]byte("PK\x03\x04"))
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "part")
		}
	})
	for target, want := range map[string]string{
		url + "/gone":          "the server answered 404 Not Found; it says:\nno such page",
		url + "/zip":           "application/zip, not text; fetch it into a file with Bash",
		url + "/loop":          "redirects more than 10 times",
		url + "/cut":           "unexpected EOF",
		"ftp://example.com/":   "not an http or https address",
		"http://":              "names no host",
		"file:///etc/passwd":   "not an http or https address",
		"http://me:x@a.b/":     "user or password",
		"http://a b/":          "input of WebFetch",
		"http://127.0.0.1:1/x": "connection refused",
	} {
		wants(t, bad(t, s, "WebFetch", in{"url": target}), want)
	}
}

func TestF085_private_addresses_are_not_reached(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	s := newSet(t, tool.Options{})
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	for _, target := range []string{
		server.URL, "http://localhost" + port, "http://0.0.0.0" + port, "http://[::1]" + port, "http://[::ffff:127.0.0.1]" + port,
		"http://127.1.2.3" + port, "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fd00:ec2::254]/",
	} {
		text := bad(t, s, "WebFetch", in{"url": target})
		if !strings.Contains(text, "not an address of the public internet") && !strings.Contains(text, "no such host") {
			t.Errorf("%s: %s", target, text)
		}
	}
	if asked.Load() > 0 {
		t.Error("the server was reached")
	}
}

func TestF085_a_redirect_to_another_host_is_returned_not_followed(t *testing.T) {
	var url string
	s, url := site(t, tool.Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/other":
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
		case "/name":
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+"/", http.StatusMovedPermanently)
		case "/same":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/scheme":
			http.Redirect(w, r, "gopher://"+r.Host+"/", http.StatusFound)
		case "/end":
			_, _ = io.WriteString(w, "the end")
		}
	})
	wants(t, bad(t, s, "WebFetch", in{"url": url + "/other"}), "redirects to another host", "call again with http://169.254.169.254/latest/")
	wants(t, bad(t, s, "WebFetch", in{"url": url + "/name"}), "call again with http://localhost:")
	wants(t, bad(t, s, "WebFetch", in{"url": url + "/scheme"}), "was not fetched")
	wants(t, good(t, s, "WebFetch", in{"url": url + "/same"}), "the end")
}

func TestF085_the_size_is_bounded_while_reading(t *testing.T) {
	s, url := site(t, tool.Options{Limits: tool.Limits{WebBytes: 100_000, OutputChars: 1000}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 10<<20))
			_ = z.Close()
		case "/data":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(make([]byte, 200_000))
		}
	})
	r := run(t, s, "WebFetch", in{"url": url + "/endless"})
	wants(t, r.Text(), "99000 characters cut; the whole is in ", "longer than 97.7 KiB")
	if got := content(t, structured(t, r)["output_file"].(string)); len(got) != 100_000 {
		t.Errorf("kept %d bytes", len(got))
	}
	wants(t, good(t, s, "WebFetch", in{"url": url + "/bomb"}), "longer than 97.7 KiB")
	wants(t, bad(t, s, "WebFetch", in{"url": url + "/data"}), "larger than 97.7 KiB")
}

func TestWebFetch_keeps_pages_for_a_while(t *testing.T) {
	now := time.Unix(0, 0)
	var asked atomic.Int32
	s, url := site(t, tool.Options{Now: func() time.Time { return now }}, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "answer %d", asked.Add(1))
	})
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "answer 1"}, {14 * time.Minute, "answer 1"}, {2 * time.Minute, "answer 2"}} {
		now = now.Add(c.after)
		if got := good(t, s, "WebFetch", in{"url": url}); got != c.want {
			t.Errorf("after %v: %s, want %s", c.after, got, c.want)
		}
	}
	for i := range 20 { // others push it out
		good(t, s, "WebFetch", in{"url": fmt.Sprintf("%s/%d", url, i)})
		now = now.Add(time.Second)
	}
	if got := good(t, s, "WebFetch", in{"url": url}); got != "answer 23" {
		t.Errorf("after twenty others: %s", got)
	}
}

func TestWebFetch_time_out_cancel_and_close(t *testing.T) {
	stuck := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s, url := site(t, tool.Options{Limits: tool.Limits{WebTimeout: 50 * time.Millisecond}}, stuck)
	wants(t, bad(t, s, "WebFetch", in{"url": url}), "timed out after 50ms")
	s, url = site(t, tool.Options{}, stuck)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	wants(t, runCtx(t, ctx, s, "WebFetch", in{"url": url}).Text(), "cancelled")
	time.AfterFunc(20*time.Millisecond, func() { _ = s.Close() })
	wants(t, bad(t, s, "WebFetch", in{"url": url}), "cancelled")
}

func TestWebFetch_gives_images_as_themselves(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3000, 10))); err != nil {
		t.Fatal(err)
	}
	s, url := site(t, tool.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		if r.URL.Path == "/broken" {
			_, _ = w.Write(picture.Bytes()[:50])
			return
		}
		_, _ = w.Write(picture.Bytes())
	})
	r := run(t, s, "WebFetch", in{"url": url})
	if len(r.Content) != 2 || r.Content[0].MediaType != "image/png" {
		t.Fatalf("%+v", r.Content)
	}
	wants(t, r.Text(), "3000 × 10", "2000 × 6")
	wants(t, bad(t, s, "WebFetch", in{"url": url + "/broken"}), "it is broken")
}
