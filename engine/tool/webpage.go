package tool

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html/charset"
)

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isText(kind string) bool {
	_, sub, _ := strings.Cut(kind, "/")
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"):
		return !isImage(kind)
	}
	switch sub {
	case "json", "xml", "javascript", "x-javascript", "yaml", "x-yaml", "toml", "x-ndjson", "graphql", "sql":
		return true
	}
	return false
}

// pageText decodes a body from its character set; HTML becomes Markdown.
func pageText(from *url.URL, kind, contentType string, body []byte) (text string, err error) {
	decoded, err := decodeText(contentType, body)
	if err != nil {
		return "", err
	}
	if !isHTML(kind) {
		return clean(decoded), nil
	}
	// The converter is not ours and the page is anybody's.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its HTML cannot be converted: %v", r)
		}
	}()
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	markdown, err := c.ConvertReader(bytes.NewReader(decoded), converter.WithDomain(from.String()))
	return clean(markdown), err
}

// decodeText makes UTF-8 of a body in any character set. Without a word about it
// a body is taken for what it looks like: the library looks at its beginning
// only, so that one with its first umlaut further down would be garbled.
func decodeText(contentType string, body []byte) ([]byte, error) {
	_, params, err := mime.ParseMediaType(contentType)
	silent := err != nil || params["charset"] == ""
	ascii := !bytes.ContainsFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	if len(body) == 0 || silent && !ascii && utf8.Valid(body) {
		return body, nil
	}
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return nil, fmt.Errorf("its character set is not known: %w", err)
	}
	return io.ReadAll(r)
}

// webCache keeps pages for a while; its zero value is ready for use.
type webCache struct {
	mu    sync.Mutex
	pages map[string]cachedPage
}

type cachedPage struct {
	page  page
	until time.Time
}

// maxCached bounds the pages that are kept.
const maxCached = 16

func (w *webCache) get(address string, now time.Time) (page, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.pages[address]
	return c.page, ok && now.Before(c.until)
}

// put keeps a page; the one that would have gone first makes room.
func (w *webCache) put(address string, p page, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pages == nil {
		w.pages = map[string]cachedPage{}
	}
	w.pages[address] = cachedPage{p, until}
	if len(w.pages) <= maxCached {
		return
	}
	oldest := ""
	for a, c := range w.pages {
		if oldest == "" || c.until.Before(w.pages[oldest].until) {
			oldest = a
		}
	}
	delete(w.pages, oldest)
}
