package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// rule is a row of the tables: a command, or a command with a subcommand.
type rule struct {
	name string // as in the table: "git branch"
	options
	subs map[string]*rule

	never     string   // why it is refused whatever follows
	anyOption bool     // no option and no operand of it can change anything
	need      []string // one of these options must be there (or a subcommand)
	alone     []string // or one of these, as the only option
	min, max  int      // operands; max < 0 is any number
	free      []string // options that lift max
	like      string   // what every operand begins with
	unlike    string   // what no operand begins with
	second    string   // what the second operand is
	lacks     string   // what no operand and no value contains
	sub       bool     // a subcommand must follow
	stop      bool     // the first operand ends the options
	whole     bool     // -abc is one option, not three
	apart     bool     // values of short options are always words of their own
	bundle    bool     // the first operand is a bundle of options without a dash
	version   []string // there is exactly one argument, one of these
	run       bool     // what follows the options is a command
	skip      int      // operands before that command
	env       bool     // NAME=value before that command
	query     []string // options that make run look the command up instead
	config    string   // an option whose value is a setting
	code      string   // which checker the operands are for

	token        bool // prints words that never begin with a dash
	tokenOptions map[string]bool
}

// arity is what an option takes.
type arity uint8

const (
	unknown  arity = iota
	flag           // nothing
	value          // the rest of the word, or the next word
	attached       // perhaps the rest of the word, never the next
)

// options are those known to only read. Names of long ones, and of short ones
// where the whole word is the option, are without their dashes.
type options struct {
	short  [128]arity
	long   map[string]arity
	number bool // -5
	sets   []*options
}

func (o *options) shortArity(c byte) arity {
	if c < 128 && o.short[c] != unknown {
		return o.short[c]
	}
	for _, s := range o.sets {
		if a := s.shortArity(c); a != unknown {
			return a
		}
	}
	return unknown
}

func (o *options) numeric() bool {
	return o.number || slices.ContainsFunc(o.sets, (*options).numeric)
}

func (o *options) longArity(name string) arity {
	if a := o.long[name]; a != unknown {
		return a
	}
	for _, s := range o.sets {
		if a := s.longArity(name); a != unknown {
			return a
		}
	}
	return unknown
}

// apply judges the arguments of a command by its row.
func (j *judge) apply(r *rule, at syntax.Node, words []word) bool {
	switch {
	case r.never != "":
		return j.refuse(at, "%s %s", r.name, r.never)
	case r.version != nil:
		return j.versionOnly(r, at, words)
	case r.code == "test":
		return j.testWords(words)
	case r.anyOption && len(r.subs) == 0:
		if len(words) < r.min {
			return j.refuse(at, "%s without arguments is not known to only read", r.name)
		}
		return true
	}
	p := parsed{judge: j, rule: r, at: at, keep: r.code != ""}
	if !p.arguments(words) {
		return false
	}
	switch r.code {
	case "sed":
		return j.sed(&p)
	case "awk":
		return j.awk(&p)
	}
	return true
}

func (j *judge) versionOnly(r *rule, at syntax.Node, words []word) bool {
	if len(words) == 1 && words[0].exact && slices.Contains(r.version, words[0].text) {
		return true
	}
	return j.refuse(at, "%s is only known to read when it prints its version: %s", r.name, anyOf(r.version))
}
