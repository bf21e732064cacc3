package shell

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// call judges one simple command.
func (j *judge) call(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 {
		return j.refuse(c, "it assigns a variable of the shell: write the value where it is used")
	}
	if !j.assigns(c.Assigns) || !j.expansions(c.Args) {
		return false
	}
	return j.withWords(c.Args, j.simple)
}

// withWords classifies the arguments on top of the stack of words and takes
// them down again.
func (j *judge) withWords(args []*syntax.Word, judged func([]word) bool) bool {
	base := len(j.words)
	for _, a := range args {
		j.words = append(j.words, j.classify(a))
	}
	ok := judged(j.words[base:])
	j.words = j.words[:base]
	return ok
}

// simple judges a command word with its arguments; wrappers such as env come
// back here with what they run.
func (j *judge) simple(words []word) bool {
	first := words[0]
	if !first.exact || first.text == "" {
		return j.refuse(first.node, "the command is not literal: what runs is only known afterwards")
	}
	if i := strings.IndexFunc(first.text, wideSpace); i >= 0 {
		return j.simple(spread(words))
	}
	name := commandName(first.text)
	r := j.table.commands[name]
	if r == nil {
		if why, ok := j.table.refused[name]; ok {
			return j.refuse(first.node, "%s %s", name, why)
		}
		return j.refuse(first.node, "%s is not in the table of commands known to only read", first.text)
	}
	return j.apply(r, first.node, words[1:])
}

// commandName is the word to look up. The file systems of two of three
// platforms ignore case; a folder only counts where the system keeps its own.
func commandName(text string) string {
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		switch text[:i] {
		case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin":
			text = text[i+1:]
		}
	}
	return strings.ToLower(text)
}

// wideSpace is a space that is none to the shell, as CJK keyboards produce it.
// Such a command is not found, whatever it looks like; it is judged by what
// it was meant to be.
func wideSpace(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }

func spread(words []word) []word {
	var out []word
	for _, f := range strings.FieldsFunc(words[0].text, wideSpace) {
		out = append(out, word{node: words[0].node, text: f, exact: true})
	}
	if len(out) == 0 {
		out = append(out, word{node: words[0].node, exact: true})
	}
	return append(out, words[1:]...)
}

// oneToken reports whether a substitution is known to print words of which
// none begins with a dash, such as a commit id.
func (j *judge) oneToken(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 {
		return false
	}
	c, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || len(c.Args) == 0 {
		return false
	}
	words := make([]word, 0, len(c.Args))
	for _, a := range c.Args {
		w := j.classify(a)
		if !w.exact || w.text == "" || strings.ContainsAny(w.text, " \t\n") {
			return false
		}
		words = append(words, w)
	}
	r := j.table.commands[words[0].text]
	for words = words[1:]; r != nil && len(words) > 0; words = words[1:] {
		sub := r.subs[words[0].text]
		if sub == nil {
			break
		}
		r = sub
	}
	if r == nil || !r.token {
		return false
	}
	for _, w := range words {
		if w.option() && !r.tokenOptions[w.text] {
			return false
		}
	}
	return true
}

// readLoop judges read as the condition of a loop by its row in the table.
func (j *judge) readLoop(c *syntax.CallExpr) bool {
	for _, a := range c.Assigns {
		if a.Name != nil && a.Name.Value == "IFS" && a.Array == nil && a.Index == nil {
			if !j.expand(a.Value) {
				return false
			}
			continue // it holds for read alone
		}
		if !j.assigns([]*syntax.Assign{a}) {
			return false
		}
	}
	return j.expansions(c.Args) && j.withWords(c.Args[1:], func(words []word) bool {
		p := parsed{judge: j, rule: j.table.commands["while read"], at: c.Args[0], keep: true}
		if !p.arguments(words) {
			return false
		}
		for _, w := range p.operands {
			if !w.exact || !j.variable(w.node, w.text) {
				return j.refuse(w.node, "read needs plain names")
			}
		}
		return true
	})
}
