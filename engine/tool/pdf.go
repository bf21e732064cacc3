package tool

// PDFs are checked before they enter a transcript: one that is locked, broken or
// too long would be refused with every later request.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// errLocked is a PDF that cannot be read without a password.
var errLocked = errors.New("it is encrypted; take the protection away first, with Bash: qpdf --decrypt IN OUT")

func (s *Set) readPDF(path string, fileSize int64, pages string) Result {
	if fileSize > int64(s.lim.PDFBytes) {
		return ErrorResult(fmt.Sprintf("%s is a PDF of %s; more than %s is not read: take the text out with Bash (pdftotext), or split it",
			path, size(fileSize), size(int64(s.lim.PDFBytes))))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	p, err := s.fitPDF(data, pages)
	if err != nil {
		return ErrorResult(fmt.Sprintf("%s cannot be shown as a PDF: %v", path, err))
	}
	r := Result{Content: p.content}
	if p.note != "" {
		r = r.note("[" + p.note + "]")
	}
	return r
}

// fitPDF checks that a PDF can be read and returns it, or the pages that were
// asked for, as a document. The bytes stay as they are where all of it is given.
func (s *Set) fitPDF(data []byte, pages string) (page, error) {
	if len(data) > s.lim.PDFBytes {
		return page{}, fmt.Errorf("it has %s, more than %s", size(int64(len(data))), size(int64(s.lim.PDFBytes)))
	}
	total, err := countPages(data)
	switch {
	case errors.Is(err, errLocked):
		return page{}, err
	case err != nil:
		return page{}, fmt.Errorf("it is broken: %w; try to take the text out with Bash (pdftotext)", err)
	}
	// Twice as much may be asked for as is given unasked.
	most := 2 * s.lim.PDFPages
	if pages == "" && total <= s.lim.PDFPages {
		return page{content: []Content{{MediaType: "application/pdf", Data: data}}}, nil
	}
	if pages == "" {
		return page{}, fmt.Errorf("it has %d pages; say which with pages, such as \"1-%d\", %d at most", total, most, most)
	}
	first, last, err := pageRange(pages, total)
	if err != nil {
		return page{}, err
	}
	if last-first+1 > most {
		return page{}, fmt.Errorf("pages %d to %d are more than %d; ask for them in parts", first, last, most)
	}
	part, err := takePages(data, first, last)
	if err != nil {
		return page{}, fmt.Errorf("its pages cannot be taken out: %w; try Bash (qpdf, pdftotext)", err)
	}
	return page{
		content: []Content{{MediaType: "application/pdf", Data: part}},
		note:    fmt.Sprintf("pages %d to %d of %d", first, last, total),
	}, nil
}

// pageRange reads "3", "2-5" or "7-".
func pageRange(text string, total int) (first, last int, err error) {
	from, to, both := strings.Cut(strings.ReplaceAll(text, " ", ""), "-")
	if !both {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(cmp.Or(to, strconv.Itoa(total)))
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("pages %q is not a page such as 3 or a range such as 1-5", text)
	}
	if first > total {
		return 0, 0, fmt.Errorf("it has %s, so page %d is not there", plural(total, "page"), first)
	}
	return first, min(last, total), nil
}
