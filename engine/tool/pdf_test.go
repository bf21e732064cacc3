package tool_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"github.com/flowerlua/flower/engine/tool"
)

// aPDF is a PDF of n empty pages.
func aPDF(n int) string {
	var b strings.Builder
	var offsets []int
	object := func(text string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), text)
	}
	b.WriteString("%PDF-1.4\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	var kids []string
	for i := range n {
		kids = append(kids, fmt.Sprintf("%d 0 R", i+3))
	}
	object(fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", n, strings.Join(kids, " ")))
	for range n {
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<<>>>>")
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.String()
}

func TestRead_PDF(t *testing.T) {
	s := newSet(t, tool.Options{})
	dir := tempDir(t)
	short, long := aPDF(10), aPDF(50)
	put(t, dir, "short.pdf", short)
	put(t, dir, "long.pdf", long)
	r := run(t, s, "Read", in{"file_path": dir + "/short.pdf"})
	if len(r.Content) != 1 || r.Content[0].MediaType != "application/pdf" || string(r.Content[0].Data) != short {
		t.Errorf("short: %s", r.Text())
	}
	for pages, n := range map[string]int{"1-20": 20, "3": 1, "45-": 6, "41 - 99": 10} {
		r := run(t, s, "Read", in{"file_path": dir + "/long.pdf", "pages": pages})
		if r.IsError {
			t.Errorf("%s: %s", pages, r.Text())
			continue
		}
		got, err := api.PageCount(bytes.NewReader(r.Content[0].Data), model.NewDefaultConfiguration())
		if err != nil || got != n {
			t.Errorf("%s: %d pages, %v; want %d", pages, got, err, n)
		}
		wants(t, r.Text(), "of 50]")
	}
	for pages, want := range map[string]string{
		"": "it has 50 pages; say which with pages, such as \"1-20\"", "1-21": "more than 20", "51": "page 51 is not there",
		"0": "not a page", "5-2": "not a page", "a": "not a page", "1,3": "not a page",
	} {
		wants(t, bad(t, s, "Read", in{"file_path": dir + "/long.pdf", "pages": pages}), want)
	}
}

func TestF021_PDFs_that_would_lock_a_session_are_a_text(t *testing.T) {
	s := newSet(t, tool.Options{Limits: tool.Limits{PDFBytes: 100_000}})
	dir := tempDir(t)
	for _, c := range []struct{ name, user, owner string }{{"locked.pdf", "test-key", "test-key"}, {"restricted.pdf", "", "test-key"}} {
		var out bytes.Buffer
		conf := model.NewAESConfiguration(c.user, c.owner, 256)
		if err := api.Encrypt(strings.NewReader(aPDF(1)), &out, conf); err != nil {
			t.Fatal(err)
		}
		put(t, dir, c.name, out.String())
	}
	put(t, dir, "broken.pdf", aPDF(3)[:200])
	put(t, dir, "empty.pdf", "%PDF-1.4\n")
	put(t, dir, "none.pdf", aPDF(0))
	large := put(t, dir, "large.pdf", aPDF(1))
	if err := os.Truncate(large, 100_001); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"locked.pdf": "encrypted", "restricted.pdf": "encrypted", "broken.pdf": "cannot be shown", "empty.pdf": "it is broken", "none.pdf": "no pages", "large.pdf": "97.7 KiB is not read",
	} {
		r := run(t, s, "Read", in{"file_path": dir + "/" + name})
		if !r.IsError || len(r.Content) != 1 || r.Content[0].MediaType != "" {
			t.Errorf("%s: %+v", name, r.Content)
		}
		wants(t, r.Text(), want)
	}
}

// FuzzPDF: whatever a file holds, it is a document that can be counted or an
// error, and nothing panics.
func FuzzPDF(f *testing.F) {
	f.Add([]byte(aPDF(2)), "1")
	f.Add([]byte(strings.ReplaceAll(aPDF(12), "/Count 12", "/Count 99999999")), "2-3")
	f.Fuzz(func(t *testing.T, data []byte, pages string) {
		if !bytes.HasPrefix(data, []byte("%PDF-")) {
			data = append([]byte("%PDF-1.4\n"), data...)
		}
		s := newSet(t, tool.Options{})
		r := run(t, s, "Read", in{"file_path": put(t, t.TempDir(), "f", string(data)), "pages": pages})
		if !r.IsError && (len(r.Content) == 0 || r.Content[0].MediaType != "application/pdf") {
			t.Errorf("%+v", r)
		}
	})
}
