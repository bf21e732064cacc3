package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flowerlua/flower/internal/spell"
)

// negative is a number that looks like a flag.
var negative = regexp.MustCompile(`^-[0-9.]`)

// values prepares our words for the parser: a negative number is joined to its flag,
// so that what reads the value can say what is wrong with it, and an empty value is
// an error: it mostly is a variable of the shell that is not set, which must not mean
// the default.
func (g *grammar) values(own []string) ([]string, error) {
	nodes := append(g.command(own), g.starter)
	var out []string
	for i := 0; i < len(own); i++ {
		word := own[i]
		if word == "--" {
			return append(out, own[i:]...), nil
		}
		flag, text, joined := strings.Cut(word, "=")
		f := flagOf(flag, nodes...)
		if f == nil || f.IsBool() {
			out = append(out, word)
			continue
		}
		if !joined && i+1 < len(own) {
			text, joined = own[i+1], true
			i++
			if negative.MatchString(text) {
				word = "--" + f.Name + "=" + text
			} else {
				out, word = append(out, word), text
			}
		}
		if joined && text == "" {
			return nil, wrongUse("%s is empty; leave it out, or give it a value", flag)
		}
		out = append(out, word)
	}
	return out, nil
}

// The parser's errors that a person may see, by their texts: it has no others.
var (
	unknownFlag   = regexp.MustCompile(`^unknown flag (\S+?)(, did you mean .*)?$`)
	unexpected    = regexp.MustCompile(`(?s)^unexpected argument (.*?)(, did you mean .*)?$`)
	missingFlag   = regexp.MustCompile(`^expected "?<`)
	notInEnum     = regexp.MustCompile(`(?s)^(\S+) must be one of (.*) but got "(.*)"$`)
	notOfType     = regexp.MustCompile(`(?s)^(--\S+): .*?expected (?:an? )?(?:valid )?(?:\d+ bit )?(\w+)(?: value)? but got "(.*?)"`)
	valueIsNoFlag = regexp.MustCompile(`(?s)^(--\S+): expected .* value but got "(-.*?)" \(.*flag\)`)
	exclusive     = regexp.MustCompile(`^(--\S+) and (--\S+) can't be used together$`)
)

// kinds are the parser's types in words.
var kinds = map[string]string{"int": "a whole number", "uint": "a whole number", "float": "a number", "duration": "a time such as 90s or 5m"}

// explain says what the parser found, in words for the person who typed.
func (g *grammar) explain(err error, own []string) error {
	path := g.command(own)
	node := path[len(path)-1]
	see := " (see " + nodeName(node) + " --help)"
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		err = parse.Unwrap()
	}
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return wrongUse("%s%s", g.noFlag(m[1], path), see)
	}
	if m := valueIsNoFlag.FindStringSubmatch(text); m != nil {
		return wrongUse("%s needs a value, and %s is a flag%s", m[1], m[2], see)
	}
	if m := notOfType.FindStringSubmatch(text); m != nil {
		if m[3] == "EOL" {
			return wrongUse("%s needs a value: %s%s", m[1], wordOr(kinds[m[2]], "one word"), see)
		}
		return wrongUse("%s is %q; it is %s%s", m[1], m[3], wordOr(kinds[m[2]], m[2]), see)
	}
	if m := notInEnum.FindStringSubmatch(text); m != nil {
		return wrongUse("%s%s", g.notAChoice(m[1], m[2], m[3], own), see)
	}
	if m := exclusive.FindStringSubmatch(text); m != nil {
		return wrongUse("%s and %s exclude each other%s", m[1], m[2], see)
	}
	switch m := unexpected.FindStringSubmatch(text); {
	case m != nil:
		return wrongUse("%s takes no %q%s%s", nodeName(node), m[1], spell.Hint(m[1], childNames(node)), see)
	case missingFlag.MatchString(text):
		return wrongUse("%s needs %s%s", fullName(node), argNames(node), see)
	}
	return wrongUse("%s%s", text, see)
}

func wordOr(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

// nodeName is the command as it is typed, without a name that can be left out.
func nodeName(node *kong.Node) string {
	if node.Name == "go" || node.Name == "run" {
		return "flower"
	}
	return fullName(node)
}

func fullName(node *kong.Node) string {
	if node.Parent == nil {
		return node.Name
	}
	return fullName(node.Parent) + " " + node.Name
}

func argNames(node *kong.Node) string {
	var all []string
	for _, arg := range node.Positional {
		if arg.Required {
			all = append(all, "<"+arg.Name+">")
		}
	}
	return strings.Join(all, " and ")
}

// noFlag says that there is no such flag here, and where there is one.
func (g *grammar) noFlag(flag string, path []*kong.Node) string {
	node := path[len(path)-1]
	var here []string
	for _, n := range path {
		for _, f := range n.Flags {
			here = append(here, spellings(f)...)
		}
	}
	if owners := g.owners(flag); len(owners) > 0 {
		return nodeName(node) + " has no flag " + flag + "; it is one of " + strings.Join(owners, ", ")
	}
	if hint := spell.Hint(flag, here); len(flag) > 2 && hint != "" {
		return nodeName(node) + " has no flag " + flag + hint
	}
	return nodeName(node) + " has no flag " + flag
}

// owners are the commands that have a flag.
func (g *grammar) owners(flag string) (names []string) {
	var look func(*kong.Node)
	look = func(n *kong.Node) {
		if flagOf(flag, n) != nil {
			names = append(names, fullName(n))
		}
		for _, c := range n.Children {
			look(c)
		}
	}
	look(g.root)
	return names
}

// notAChoice says what a value may be. It may also come from the environment.
func (g *grammar) notAChoice(name, choices, got string, own []string) string {
	var all []string
	for _, c := range strings.Split(choices, ",") {
		all = append(all, strings.Trim(c, `"`))
	}
	if f := flagOf(name, g.root); f != nil && len(f.Tag.Envs) > 0 && os.Getenv(f.Tag.Envs[0]) == got &&
		!slices.ContainsFunc(own, func(w string) bool { return flagWord(w) == name }) {
		name = f.Tag.Envs[0]
	}
	return strings.Trim(name, "<>") + " is " + quoted(got) + "; it is " + orList(all) + spell.Hint(got, all)
}

func quoted(text string) string { return `"` + text + `"` }

// orList is a, b or c.
func orList(all []string) string {
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
