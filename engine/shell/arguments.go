package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parsed reads the arguments of one command the way the command itself would,
// as far as its row says how.
type parsed struct {
	judge *judge
	rule  *rule
	at    syntax.Node // the command word

	ended   bool // no options from here on
	needed  bool // one of rule.need was there
	lone    bool // one of rule.alone was there
	freed   bool // one of rule.free was there
	options int  // how many there were
	count   int  // operands
	many    bool // and perhaps more of them

	// For the checkers of a little language, kept only for them.
	keep     bool
	operands []word
	scripts  []word // values of options that carry a script
}

func (p *parsed) arguments(words []word) bool {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if p.rule.run && p.query(w) {
			return true
		}
		if done, ok := p.command(words[i:]); done {
			return ok
		}
		switch {
		case !p.ended && w.exact && w.text == "--" && !p.rule.whole:
			p.ended = true
		case w.split && (!p.ended || p.limited()):
			return p.judge.refuse(w.node, "it may become any words once expanded: quote it, and put -- or ./ before it so that %s cannot take it for an option", p.rule.name)
		case !p.ended && i == 0 && p.rule.bundle && w.exact && w.text != "" && w.text[0] != '-':
			if !p.cluster(w, w.text, words, &i, true) {
				return false
			}
		case !p.ended && w.option():
			if !p.option(words, &i) {
				return false
			}
		default:
			if done, ok := p.operand(words[i:]); done || !ok {
				return ok
			}
		}
	}
	return p.complete()
}

// limited reports whether it matters how many operands there are or which.
func (p *parsed) limited() bool {
	r := p.rule
	return r.max >= 0 || r.second != "" || r.like != "" || r.unlike != "" || r.lacks != "" || len(r.subs) > 0 || r.run || p.keep && p.count == 0
}

// query is command -v: it looks the rest up instead of running it.
func (p *parsed) query(w word) bool {
	return !p.ended && w.exact && slices.Contains(p.rule.query, w.text)
}

// command judges what a wrapper runs, once its own words are over.
func (p *parsed) command(words []word) (done, ok bool) {
	r, w := p.rule, words[0]
	if !r.run || !p.ended && (w.option() || w.exact && w.text == "--") {
		return false, false
	}
	p.ended = true
	if r.env && w.exact && w.text == "-" && p.count == 0 {
		return false, false
	}
	if r.env {
		if name, _, ok := strings.Cut(w.text, "="); ok {
			if !p.judge.variable(w.node, name) {
				return true, false
			}
			if w.split || w.glob {
				return true, p.judge.refuse(w.node, "it may become any words once expanded: quote it")
			}
			return false, false
		}
	}
	if p.count < r.skip {
		return false, false
	}
	return true, p.judge.simple(words)
}

// operand judges one that is no option; it goes down into a subcommand.
func (p *parsed) operand(words []word) (done, ok bool) {
	r, w, j := p.rule, words[0], p.judge
	if p.count == 0 && len(r.subs) > 0 {
		if sub := r.subs[strings.ToLower(w.text)]; sub != nil && w.exact {
			return true, j.apply(sub, w.node, words[1:])
		}
		if !w.exact {
			return true, j.refuse(w.node, "it could become a subcommand of %s once expanded: write it out", r.name)
		}
		if r.sub || r.max == 0 {
			return true, j.refuse(w.node, "%s %s is not in the table of commands known to only read", r.name, p.judge.source(w.node))
		}
	}
	p.count++
	p.many = p.many || w.glob || w.split
	if p.keep {
		p.operands = append(p.operands, w)
	}
	if r.stop {
		p.ended = true
	}
	switch {
	case r.second != "" && p.count == 2 && (w.text != r.second || !w.exact):
		return false, j.refuse(w.node, "%s only reads with %s as its second argument", r.name, r.second)
	case r.like != "" && !strings.HasPrefix(w.text, r.like):
		return false, j.refuse(w.node, "%s only reads when its arguments begin with %s: this may set something", r.name, r.like)
	case r.unlike != "" && (strings.HasPrefix(w.text, r.unlike) || !w.exact && (w.text == "" || w.text[:1] == opaque)):
		return false, j.refuse(w.node, "an argument of %s that begins with %s is more than a file to read", r.name, r.unlike)
	case r.lacks != "" && (strings.Contains(w.text, r.lacks) || !w.exact):
		return false, j.refuse(w.node, "an argument of %s with %s in it may change something", r.name, r.lacks)
	}
	return false, true
}

func (p *parsed) option(words []word, i *int) bool {
	w := words[*i]
	switch {
	case !w.exact && (w.text == "" || w.text == "-" || w.text == "--"):
		return p.judge.refuse(w.node, "it could become an option of %s once expanded: put -- or ./ before it", p.rule.name)
	case strings.HasPrefix(w.text, "--") || p.rule.whole:
		return p.long(words, i)
	}
	return p.cluster(w, w.text[1:], words, i, p.rule.apart)
}

// long is --name, --name=value, or -name where single dashes are whole words.
func (p *parsed) long(words []word, i *int) bool {
	w := words[*i]
	text := strings.TrimPrefix(strings.TrimPrefix(w.text, "-"), "-")
	name, val, has := strings.Cut(text, "=")
	a := p.rule.longArity(name)
	if p.rule.whole && digits(name) && p.rule.numeric() {
		a = flag
	}
	if a == unknown || !has && !w.exact {
		return p.unlisted(w, w.text[:len(w.text)-len(text)]+name)
	}
	full := w.text[:len(w.text)-len(text)] + name
	p.seen(full)
	if has {
		return p.takes(full, word{node: w.node, text: val, exact: w.exact, glob: w.glob})
	}
	return a != value || p.next(full, words, i)
}

// cluster is -abc. With apart, values are the words that follow, in order.
func (p *parsed) cluster(w word, letters string, words []word, i *int, apart bool) bool {
	var following []byte
	for k := 0; k < len(letters); k++ {
		c := letters[k]
		if c >= '0' && c <= '9' && p.rule.shortArity(c) == unknown && p.rule.numeric() {
			continue
		}
		a := p.rule.shortArity(c)
		name := "-" + letters[k:k+1]
		if a == unknown || c >= 128 {
			return p.unlisted(w, "-"+firstRune(letters[k:]))
		}
		p.seen(name)
		switch {
		case a == flag:
			continue
		case apart:
			if a == value {
				following = append(following, c)
			}
			continue
		case k+1 < len(letters) || !w.exact:
			return p.takes(name, word{node: w.node, text: letters[k+1:], exact: w.exact, glob: w.glob})
		case a == value:
			return p.next(name, words, i)
		}
	}
	if !w.exact {
		return p.judge.refuse(w.node, "it could become more options of %s once expanded", p.rule.name)
	}
	for _, c := range following {
		if !p.next("-"+string(rune(c)), words, i) {
			return false
		}
	}
	return true
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// next takes the following word as the value of an option.
func (p *parsed) next(name string, words []word, i *int) bool {
	if *i+1 >= len(words) {
		return true // the command will complain
	}
	*i++
	w := words[*i]
	if w.split || w.glob && (w.text == "" || w.text[0] == '-') {
		return p.judge.refuse(w.node, "the value of %s may become any words once expanded: quote it", name)
	}
	p.many = p.many || w.glob
	return p.takes(name, w)
}

// takes judges the value of an option.
func (p *parsed) takes(name string, v word) bool {
	r, j := p.rule, p.judge
	switch {
	case name == r.config && !v.exact:
		return j.refuse(v.node, "the setting is only known once expanded")
	case name == r.config:
		key, _, _ := strings.Cut(strings.ToLower(v.text), "=")
		if !j.table.settings.allowed(key) {
			return j.refuse(v.node, "the setting %s may make %s run something", key, r.name)
		}
	case r.lacks != "" && (strings.Contains(v.text, r.lacks) || !v.exact):
		return j.refuse(v.node, "a value of %s with %s in it may run something", name, r.lacks)
	}
	if p.keep && (name == "-e" || name == "--expression") {
		if p.count > 0 {
			// To some the first argument is a file then, to others the script.
			return j.refuse(v.node, "%s behind an argument is not clear: put it in front", name)
		}
		p.scripts = append(p.scripts, v)
	}
	return true
}

func (p *parsed) seen(name string) {
	p.options++
	p.needed = p.needed || slices.Contains(p.rule.need, name)
	p.lone = p.lone || slices.Contains(p.rule.alone, name)
	p.freed = p.freed || slices.Contains(p.rule.free, name)
}

func (p *parsed) unlisted(w word, name string) bool {
	if strings.Contains(name, opaque) {
		return p.judge.refuse(w.node, "it could become any option of %s once expanded", p.rule.name)
	}
	return p.judge.refuse(w.node, "%s is not among the options of %s known to only read", name, p.rule.name)
}

// complete judges what only shows at the end of the arguments.
func (p *parsed) complete() bool {
	r, j := p.rule, p.judge
	switch {
	case r.sub && !p.needed:
		return j.refuse(p.at, "%s alone is not known to only read", r.name)
	case len(r.need) > 0 && !p.needed && !(p.lone && p.options == 1):
		return j.refuse(p.at, "%s only reads with %s", r.name, anyOf(r.need))
	case p.count < r.min:
		return j.refuse(p.at, "%s needs more arguments", r.name)
	case r.max >= 0 && !p.freed && (p.count > r.max || p.many):
		if len(r.free) > 0 {
			return j.refuse(p.at, "%s with an argument changes something unless %s says to list", r.name, anyOf(r.free))
		}
		return j.refuse(p.at, "%s only reads with %d arguments at most: one more may be what it writes", r.name, r.max)
	}
	return true
}

// anyOf names a few of the options for a sentence.
func anyOf(options []string) string {
	few := options[:min(len(options), 3)]
	last := len(few) - 1
	if last == 0 {
		return few[0]
	}
	return strings.Join(few[:last], ", ") + " or " + few[last]
}

// source is the text of a node.
func (j *judge) source(n syntax.Node) string {
	from := min(int(n.Pos().Offset()), len(j.src))
	return j.src[from:max(from, min(int(n.End().Offset()), len(j.src)))]
}
