package workbench

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	headSize  = 8 << 10 // bytes of a file that are read
	headLines = 8       // lines of it that are looked at
	maxDesc   = 100     // characters of a description that is no desc: line
)

func describe(content []byte) string {
	if len(content) > headSize {
		content = content[:headSize]
		// The cut may have gone through a character.
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRune(content); r != utf8.RuneError || size != 1 {
				break
			}
			content = content[:len(content)-1]
		}
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return ""
	}
	s := scanner{}
	for _, line := range firstLines(content) {
		s.line(line)
	}
	for _, c := range s.comments {
		if text := afterDesc(c.text); text != "" {
			return clean(text)
		}
	}
	for _, c := range s.comments {
		if text := c.forPeople(); text != "" {
			return cut(clean(text), maxDesc)
		}
	}
	return cut(clean(s.doc), maxDesc)
}

// firstLines gives at most headLines lines. Lines end with LF, CR LF or CR.
func firstLines(content []byte) []string {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	var lines []string
	for len(lines) < headLines && len(content) > 0 {
		end := bytes.IndexAny(content, "\r\n")
		if end < 0 {
			return append(lines, string(content))
		}
		lines = append(lines, string(content[:end]))
		if bytes.HasPrefix(content[end:], []byte("\r\n")) {
			end++
		}
		content = content[end+1:]
	}
	return lines
}

// scanner finds the comments and the docstring of a file, whatever language
// it is in, line by line.
type scanner struct {
	comments []comment
	doc      string // the first line of the first docstring

	closer   string // what ends the open comment or string, "" outside
	isString bool   // the open thing is a string
	isDoc    bool   // … that stands alone: a docstring
}

type comment struct {
	text     string
	attached bool // no blank between the marker and text
	hash     bool // the marker is #
	inString bool // a line in a string that looks like a comment
}

var (
	blocks = []struct{ open, close string }{
		{"/*", "*/"},
		{"<!--", "-->"},
		{"--[[", "]]"},
		{"--[=[", "]=]"},
	}
	docstring = regexp.MustCompile(`^[rRuU]?("""|''')`)
)

func (s *scanner) line(line string) {
	line = strings.TrimFunc(line, unicode.IsSpace)
	switch {
	case s.closer != "" && s.isString:
		s.inString(line)
	case s.closer != "":
		s.inBlock(line)
	default:
		s.outside(line)
	}
}

func (s *scanner) inBlock(line string) {
	text, _, closed := strings.Cut(line, s.closer)
	s.add(comment{text: strings.TrimLeft(text, "*")})
	if closed {
		s.closer = ""
	}
}

func (s *scanner) inString(line string) {
	if c, ok := lineComment(line); ok {
		c.inString = true
		s.add(c)
	}
	text, _, closed := strings.Cut(line, s.closer)
	if s.isDoc && s.doc == "" {
		s.doc = strings.TrimSpace(text)
	}
	if closed {
		s.closer = ""
	}
}

func (s *scanner) outside(line string) {
	for _, block := range blocks {
		if rest, ok := strings.CutPrefix(line, block.open); ok {
			s.closer, s.isString = block.close, false
			s.inBlock(rest)
			return
		}
	}
	if c, ok := lineComment(line); ok {
		s.add(c)
		return
	}
	if open := docstring.FindStringSubmatch(line); open != nil {
		s.closer, s.isString, s.isDoc = open[1], true, true
		s.inString(line[len(open[0]):])
		return
	}
	// A string that begins behind something else hides what looks like a
	// docstring or a comment in it.
	for _, quotes := range []string{`"""`, `'''`} {
		if strings.Count(line, quotes)%2 == 1 {
			s.closer, s.isString, s.isDoc = quotes, true, false
			return
		}
	}
}

func (s *scanner) add(c comment) {
	c.text = strings.TrimSpace(c.text)
	s.comments = append(s.comments, c)
}

// lineComment takes the marker off a line that begins with one: #, //, --, or
// more of the same.
func lineComment(line string) (c comment, ok bool) {
	for _, marker := range []string{"#", "//", "--"} {
		if !strings.HasPrefix(line, marker) {
			continue
		}
		text := strings.TrimLeft(line, marker[:1])
		attached := text != "" && !unicode.IsSpace(firstRune(text))
		if marker == "--" && attached && len(line)-len(text) > 3 {
			return comment{}, false // -----BEGIN CERTIFICATE-----
		}
		return comment{text: text, attached: attached, hash: marker == "#"}, true
	}
	return comment{}, false
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

var desc = regexp.MustCompile(`^(?i:desc)[\s\p{Zs}]*[:：](.*)$`)

func afterDesc(text string) string {
	if m := desc.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

var (
	emptyDesc = regexp.MustCompile(`^(?i:desc)[\s\p{Zs}]*[:：][\s\p{Zs}]*$`)
	// #include <stdio.h>, #!/bin/sh, #[derive(Debug)], //go:build linux
	directive = regexp.MustCompile(`^(?:(?:include|import|define|undef|if|ifdef|ifndef|elif|elifdef|else|endif|pragma|error|warning|line|region|endregion|nullable)\b|[!\[])`)
	slashWord = regexp.MustCompile(`^[a-z]+:[a-z]`)
	// Lines for editors, linters and the like.
	setting = regexp.MustCompile(`(?i)^(?:-\*-.*-\*-$|(?:en)?coding[:=]|(?:vim?|ex):|\+build |@|go:|nolint|sourcemappingurl=|<reference |ts-(?:no)?check|ts-ignore|` +
		`(?:spdx-[a-z-]+|frozen_string_literal|typed|rubocop|pylint|flake8|mypy|ruff|isort|yapf|fmt|pragma|pyright|type|noqa|luacheck|stylua|cspell|codespell)\s*:|` +
		`(?:shellcheck|eslint|tslint|jshint|prettier|stylelint|biome)(?:-[a-z-]+)?(?: |$)|noqa$)`)
	ornament = regexp.MustCompile(`^[-=*#~_+/]{2,}[\s\p{Zs}]+|[\s\p{Zs}]+(?:[-=*~_+/]{2,}|#+)$`)
)

// forPeople gives the comment's text, "" when it is not meant for people.
func (c comment) forPeople() string {
	switch {
	case c.inString, emptyDesc.MatchString(c.text), setting.MatchString(c.text):
		return ""
	case c.attached && c.hash && directive.MatchString(c.text):
		return ""
	case c.attached && !c.hash && slashWord.MatchString(c.text):
		return ""
	}
	text := ornament.ReplaceAllString(c.text, "")
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return text
}

// clean makes text one line that can be shown anywhere.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
			return -1 // would turn the direction of what follows
		default:
			return r // an invalid byte arrives as U+FFFD
		}
	}, text))
}

// cut keeps the first n characters.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return strings.TrimSpace(text[:i])
		}
		n--
	}
	return text
}
