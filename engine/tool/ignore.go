package tool

// What git ignores: the patterns of .gitignore files, translated to those of
// doublestar, which does the matching.

import (
	"os"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreRules are rules in the order of their files and lines: the last that
// matches decides. A value is never changed, so folders share what they inherit.
type ignoreRules []ignoreRule

type ignoreRule struct {
	pattern  string // of the path below the folder of the rule's file
	domain   int    // how many parts of a path lead to that folder
	include  bool   // "!": not ignored after all
	dirsOnly bool
}

// match reports whether a path, given in parts below the top, is ignored. The
// folders on its way are taken to have been asked for before.
func (rs ignoreRules) match(parts []string, dir bool) bool {
	joined := strings.Join(parts, "/")
	for i := len(rs) - 1; i >= 0; i-- {
		r := rs[i]
		if r.dirsOnly && !dir {
			continue
		}
		path := joined
		for range r.domain {
			_, path, _ = strings.Cut(path, "/")
		}
		if ok, err := doublestar.Match(r.pattern, path); ok && err == nil {
			return !r.include
		}
	}
	return false
}

// withFile adds the rules of an ignore file that lies domain parts below the
// top; without such a file, the rules come back as they are.
func (rs ignoreRules) withFile(path string, domain int) ignoreRules {
	b, err := os.ReadFile(path)
	if err != nil {
		return rs
	}
	rs = rs[:len(rs):len(rs)]
	for line := range strings.Lines(strings.TrimPrefix(string(b), "\ufeff")) {
		if r, ok := parseIgnore(strings.TrimRight(line, "\r\n")); ok {
			r.domain = domain
			rs = append(rs, r)
		}
	}
	return rs
}

// parseIgnore reads one line of an ignore file; false for an empty one, a
// comment, and a pattern that can match nothing.
func parseIgnore(line string) (r ignoreRule, ok bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.include = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirsOnly = true
		line = strings.TrimSuffix(line, "/")
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	if !anchored {
		line = "**/" + line
	} else if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the folder, not the folder
	}
	// Braces mean nothing to git.
	r.pattern = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	return r, doublestar.ValidatePattern(r.pattern)
}

// trimSpaces drops spaces at the end, save one that is escaped.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}
