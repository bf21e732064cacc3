package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

const webFetchSchema = `{"type":"object","properties":{
"url":{"type":"string","description":"An http or https address"},
"prompt":{"type":"string","description":"What you look for on the page; kept with the call, nothing else"}},
"required":["url"]}`

const maxHops = 10

// page is what a fetch brought.
type page struct {
	text    string    // or
	content []Content // an image or a document
	note    string
}

func (s *Set) webFetch(ctx context.Context, c Call) Result {
	var in struct {
		URL string `json:"url"`
	}
	if err := decode(c, &in, "url"); err != nil {
		return inputError("WebFetch", err)
	}
	target, err := parseTarget(in.URL)
	if err != nil {
		return inputError("WebFetch", err)
	}
	if p, ok := s.web.get(target.String(), s.o.Now()); ok {
		return s.pageResult(p)
	}
	if !s.begin() {
		return ErrorResult("the session has ended; nothing can be fetched any more")
	}
	defer s.calls.Done()
	ctx, stop := s.bound(ctx, s.lim.WebTimeout)
	defer stop()
	p, err := s.fetch(ctx, target)
	if err != nil {
		return ErrorResult(s.fetchError(ctx, target, err))
	}
	s.web.put(target.String(), p, s.o.Now().Add(s.lim.WebCache))
	return s.pageResult(p)
}

func parseTarget(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q is not an http or https address", text)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", text)
	case u.User != nil:
		return nil, errors.New("an address with a user or password in it is not fetched")
	}
	u.Fragment = ""
	return u, nil
}

// A redirectError is a redirect that is returned to the model, not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string { return "it redirects to " + e.to }

// fetchError is the text for what went wrong.
func (s *Set) fetchError(ctx context.Context, target *url.URL, err error) string {
	var private *privateAddrError
	var redirect *redirectError
	switch {
	case errors.As(err, &private):
		return fmt.Sprintf("%s was not fetched: %v; a service of this machine or its network can be asked with Bash, if that is allowed", target, private)
	case errors.As(err, &redirect):
		return fmt.Sprintf("%s was not fetched: it redirects to another host; call again with %s if that is what you want", target, redirect.to)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("%s was not fetched: timed out after %v", target, s.lim.WebTimeout)
	case ctx.Err() != nil:
		return fmt.Sprintf("%s was not fetched: the call was cancelled", target)
	}
	return fmt.Sprintf("%s was not fetched: %v", target, err)
}

// client fetches for one call; nothing of it stays.
func (s *Set) client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !s.o.AllowPrivate {
		// Asked with the address that is about to be dialled, on every hop: what a
		// name stood for a moment ago does not matter.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return s.checkAddr(to.Addr())
		}
	}
	return &http.Client{
		// No proxy: behind one the address could not be checked.
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			last := via[len(via)-1].URL
			switch {
			case len(via) >= maxHops:
				return fmt.Errorf("it redirects more than %d times", maxHops)
			case !strings.EqualFold(next.URL.Hostname(), last.Hostname()) || next.URL.Scheme != last.Scheme && next.URL.Scheme != "https":
				return &redirectError{next.URL.String()}
			}
			return nil
		},
	}
}

func (s *Set) fetch(ctx context.Context, target *url.URL) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return page{}, err
	}
	req.Header.Set("User-Agent", "flower (https://github.com/flowerlua/flower)")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	client := s.client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, s.lim.WebBytes+1))
	if err != nil {
		return page{}, err
	}
	whole := int64(len(body)) <= s.lim.WebBytes
	if !whole {
		body = body[:s.lim.WebBytes]
		body = body[:len(body)-partial(body)]
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		says := ""
		if isText(kind) {
			if p, err := s.toPage(resp.Request.URL, kind, resp.Header.Get("Content-Type"), body, whole); err == nil && p.text != "" {
				says = "; it says:\n" + firstChars(p.text, 1000)
			}
		}
		return page{}, fmt.Errorf("the server answered %s%s", resp.Status, says)
	}
	return s.toPage(resp.Request.URL, kind, resp.Header.Get("Content-Type"), body, whole)
}

// toPage makes a body fit for the model.
func (s *Set) toPage(from *url.URL, kind, contentType string, body []byte, whole bool) (page, error) {
	switch {
	case isText(kind):
		text, err := pageText(from, kind, contentType, body)
		p := page{text: strings.TrimSpace(text)}
		if !whole {
			p.note = fmt.Sprintf("the page is longer than %s; this is made from its beginning", size(s.lim.WebBytes))
		}
		return p, err
	case !whole:
		return page{}, fmt.Errorf("it is larger than %s; fetch it into a file with Bash, such as curl -o", size(s.lim.WebBytes))
	case isImage(kind):
		content, note, err := s.fitImage(body)
		return page{content: []Content{content}, note: note}, err
	case kind == "application/pdf":
		return s.fitPDF(body, "")
	}
	return page{}, fmt.Errorf("it is %s, not text; fetch it into a file with Bash, such as curl -o", cmp.Or(kind, "of no known kind"))
}

// pageResult gives a page; a long text goes into a file, its beginning into the
// result.
func (s *Set) pageResult(p page) Result {
	r := Result{Content: append([]Content(nil), p.content...)}
	rec := record{}
	if p.content == nil {
		text := cmp.Or(p.text, "(the page has no text)")
		if over := chars(text) - s.lim.OutputChars; over > 0 {
			var where string
			rec.OutputFile, where = s.keepWhole(text)
			text = firstChars(text, s.lim.OutputChars) + fmt.Sprintf("\n[… %s cut; %s …]", plural(over, "character"), where)
		}
		r.Content = []Content{{Text: text}}
	}
	if p.note != "" {
		r = r.note("[" + p.note + "]")
	}
	return r.with(rec)
}

// keepWhole writes a text into a file of the output folder and says where.
func (s *Set) keepWhole(text string) (file, where string) {
	err := os.MkdirAll(s.outputDir(), 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(s.outputDir(), "page-*.md"); err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
			file = f.Name()
		}
	}
	if err != nil {
		return "", fmt.Sprintf("the whole could not be kept: %v", err)
	}
	return file, "the whole is in " + file
}
