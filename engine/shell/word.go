package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is what can be known of an argument before the shell expands it.
type word struct {
	node  *syntax.Word
	text  string // what it is known to begin with
	exact bool   // text is all of it
	glob  bool   // it may become several words, each of which begins with text
	split bool   // it may become any number of any words
}

// opaque stands for text that is not known, except that it is not empty and
// does not begin with a dash. A line has no NUL bytes, so it is like no option.
const opaque = "\x00"

// option reports whether the word may be read as an option.
func (w word) option() bool {
	if w.exact {
		return len(w.text) > 1 && w.text[0] == '-'
	}
	return w.text == "" || w.text[0] == '-'
}

// classify finds out how much of a word is fixed. Its substitutions have been
// judged already.
func (j *judge) classify(n *syntax.Word) word {
	w := word{node: n, exact: true}
	if n == nil {
		return w
	}
	if len(n.Parts) == 1 {
		// Nearly every argument is a plain literal; this keeps it free of copies.
		if lit, ok := n.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, `\*?[{~`) {
			w.text = lit.Value
			return w
		}
	}
	for _, p := range n.Parts {
		j.addPart(&w, p, false)
	}
	return w
}

func (j *judge) addPart(w *word, p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			w.add(unescape(p.Value, "$`\"\\\n"))
		} else {
			w.addLit(p.Value)
		}
	case *syntax.SglQuoted:
		text, fixed := p.Value, true
		if p.Dollar {
			text, fixed = ansi(text)
		}
		w.add(text)
		w.exact = w.exact && fixed
	case *syntax.DblQuoted:
		if p.Dollar {
			w.exact = false // it becomes a translation of the text
		}
		for _, q := range p.Parts {
			j.addPart(w, q, true)
		}
	case *syntax.ParamExp:
		j.addParam(w, p, quoted)
	case *syntax.CmdSubst:
		if j.oneToken(p) {
			w.add(opaque)
			w.glob = w.glob || !quoted
		} else {
			w.split = w.split || !quoted
		}
		w.exact = false
	case *syntax.ArithmExp:
		w.exact = false
	case *syntax.ProcSubst:
		w.add("/dev/fd/")
		w.exact = false
	default:
		w.exact, w.split = false, true
	}
}

// add appends fixed text, as long as everything before it is fixed too.
func (w *word) add(text string) {
	if w.exact {
		w.text += text
	}
}

// addLit appends unquoted text: it ends being fixed at a pattern, at a brace
// that makes several words, and at a leading ~ that becomes a path.
func (w *word) addLit(s string) {
	if s == "[" && w.text == "" {
		w.add(s) // the command
		return
	}
	if w.text == "" && strings.HasPrefix(s, "~") {
		w.add("~")
		w.exact = false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				w.add(s[i : i+1])
			}
		case c == '*' || c == '?' || c == '[':
			w.exact, w.glob = false, true
		case c == '{':
			single, start := brace(s[i:])
			w.add(start)
			if !single {
				w.exact, w.glob = false, true
			} else {
				i += len(start) - 1
			}
		default:
			w.add(s[i : i+1])
		}
	}
}

// brace looks at text that begins with {. It is single where the shell leaves
// it alone, as in @{u}, {} and {{.Name}}; else start is what all its words
// begin with, which is known of a range of numbers only.
func brace(s string) (single bool, start string) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '\\', ',':
			return false, ""
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth > 0 {
			continue
		}
		from, to, ranges := strings.Cut(s[1:i], "..")
		switch {
		case !ranges:
			return true, s[:i+1]
		case digits(from) && digits(to):
			return false, opaque
		}
		return false, ""
	}
	return false, ""
}

func unescape(s, special string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// ansi decodes the escapes of $'…' that people write; the rest, which shells
// disagree on, leaves the text unfixed from there.
func ansi(s string) (text string, fixed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return b.String(), false
		}
		at := strings.IndexByte(`tnr\'"`, s[i])
		if at < 0 {
			return b.String(), false
		}
		b.WriteByte("\t\n\r\\'\""[at])
	}
	return b.String(), true
}

// addParam knows the few variables whose value cannot look like an option:
// numbers of the shell, absolute paths, and what a loop of this line runs over.
func (j *judge) addParam(w *word, p *syntax.ParamExp, quoted bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	known, looped := j.vars[name]
	switch {
	case p.Length:
		w.add(opaque)
	case !plain(p):
		w.split = w.split || !quoted || name == "@" || p.Index != nil
	case known.steady:
		w.add(opaque)
		w.split = w.split || !quoted && !known.single
	case looped:
		w.split = w.split || !quoted
	case slices.Contains([]string{"?", "#", "$", "!"}, name):
		w.add(opaque)
	case slices.Contains([]string{"HOME", "PWD", "OLDPWD"}, name):
		w.add("/")
	default:
		w.split = w.split || !quoted || name == "@"
	}
	w.exact = false
}

// plain is $name or ${name}.
func plain(p *syntax.ParamExp) bool {
	return p.Param != nil && p.NestedParam == nil && p.Flags == nil && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0 &&
		!p.Excl && !p.Length && !p.Width && !p.IsSet
}
