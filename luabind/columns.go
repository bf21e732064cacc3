package luabind

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// columns finds where in a line a word stands: the tree of a source knows lines only.
type columns struct {
	lines  []string
	tokens map[int][]ast.Token // by line
}

// readColumns reads a source as far as it has tokens.
func readColumns(source string) *columns {
	source = parsedSource(source)
	c := &columns{lines: splitLines(source), tokens: map[int][]ast.Token{}}
	scanner, lexer := parse.NewScanner(strings.NewReader(source), ""), &parse.Lexer{}
	for {
		token, err := scanner.Scan(lexer)
		if err != nil || token.Type == parse.EOF {
			return c
		}
		c.tokens[token.Pos.Line] = append(c.tokens[token.Pos.Line], token)
	}
}

// splitLines takes \r, \n, and both together for one line end, as the scanner does.
func splitLines(source string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\n\r", "\n", "\r", "\n").Replace(source), "\n")
}

// of is the column, in characters from 1, of the first of the words that is in a
// line: preferably as the name of a field. Where none is it is the column of what
// comes first, and 0 where nothing does.
func (c *columns) of(line int, words ...string) int {
	tokens := c.tokens[line]
	for _, word := range words {
		best := -1
		for i, t := range tokens {
			if isField := i+1 < len(tokens) && tokens[i+1].Type == '='; isWord(t, word) && (best < 0 || isField) {
				best = i
				if isField {
					break
				}
			}
		}
		if best >= 0 {
			return c.characters(tokens[best].Pos)
		}
	}
	if len(tokens) == 0 {
		return 0
	}
	return c.characters(tokens[0].Pos)
}

// last is the column of the last place in a line where a word stands.
func (c *columns) last(line int, word string) int {
	for _, t := range slices.Backward(c.tokens[line]) {
		if isWord(t, word) {
			return c.characters(t.Pos)
		}
	}
	return 0
}

func isWord(t ast.Token, word string) bool {
	if t.Type >= parse.TAnd && t.Type <= parse.TGoto {
		return t.Str == word
	}
	return t.Str == word && (t.Type == parse.TIdent || t.Type == parse.TString)
}

// characters makes a column that counts bytes one that counts characters.
func (c *columns) characters(at ast.Position) int {
	if at.Line < 1 || at.Line > len(c.lines) {
		return 0
	}
	line := c.lines[at.Line-1]
	return utf8.RuneCountInString(line[:min(max(at.Column-1, 0), len(line))]) + 1
}
