package tool

import (
	"embed"
	"strconv"
	"strings"
)

//go:embed describe/*.md
var descriptions embed.FS

// describe is what the model reads about a tool, with this Set's limits in it.
func (s *Set) describe(name string) string {
	b, err := descriptions.ReadFile("describe/" + name + ".md")
	if err != nil {
		return name
	}
	page := size(int64(s.lim.PageBytes))
	if s.o.PageChars > 0 {
		page = plural(s.o.PageChars, "character")
	}
	return strings.NewReplacer(
		"{page_lines}", strconv.Itoa(s.lim.PageLines),
		"{page}", page,
		"{line_chars}", strconv.Itoa(s.lim.LineChars),
		"{edit_bytes}", size(s.lim.EditBytes),
		"{pdf_pages}", strconv.Itoa(s.lim.PDFPages),
		"{output_chars}", strconv.Itoa(s.lim.OutputChars),
		"{timeout}", s.lim.Timeout.String(),
		"{max_timeout_ms}", strconv.FormatInt(s.lim.MaxTimeout.Milliseconds(), 10),
		"{glob_files}", strconv.Itoa(s.lim.GlobFiles),
		"{grep_lines}", strconv.Itoa(s.lim.GrepLines),
		"{web_bytes}", size(s.lim.WebBytes),
	).Replace(strings.TrimSpace(string(b)))
}
