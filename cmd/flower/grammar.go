package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flowerlua/flower/internal/spell"
)

// grammar is what is known of the command line before it is parsed: the first word
// decides who parses the rest.
type grammar struct {
	root *kong.Node
	// starter is the command whose name can be left out, with its flags.
	starter *kong.Node
}

func newGrammar(parser *kong.Kong) *grammar {
	g := &grammar{root: parser.Model.Node}
	g.starter = child(g.root, "go")
	return g
}

// child is the command of that name below a node; nil: there is none.
func child(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func childNames(node *kong.Node) []string {
	var all []string
	for _, c := range node.Children {
		all = append(all, c.Name)
	}
	return all
}

// flagOf is the flag, as typed without its value, among those of the nodes; nil:
// there is none.
func flagOf(typed string, nodes ...*kong.Node) *kong.Flag {
	for _, n := range nodes {
		for _, f := range n.Flags {
			if slices.Contains(spellings(f), typed) {
				return f
			}
		}
	}
	return nil
}

// flagWord is a word without the value joined to it.
func flagWord(word string) string {
	name, _, _ := strings.Cut(word, "=")
	return name
}

// takesValue tells of a flag that may stand before the first word whether the next
// word is its value.
func (g *grammar) takesValue(word string) bool {
	f := flagOf(word, g.root, g.starter)
	return f != nil && !f.IsBool()
}

// firstWord is the index of the first word that is neither a flag nor a flag's
// value.
func (g *grammar) firstWord(words []string) int {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" || w == "--" {
			return i
		}
		if g.takesValue(w) {
			i++
		}
	}
	return len(words)
}

// command is the node that words of ours lead to, and the nodes on the way, the
// root first.
func (g *grammar) command(words []string) []*kong.Node {
	path := []*kong.Node{g.root}
	for i := 0; i < len(words); i++ {
		node := path[len(path)-1]
		w := words[i]
		if strings.HasPrefix(w, "-") && w != "-" {
			if f := flagOf(w, append(slices.Clone(path), g.starter)...); f != nil && !f.IsBool() {
				i++
			}
			continue
		}
		next := child(node, w)
		if next == nil {
			break
		}
		path = append(path, next)
	}
	if last := path[len(path)-1]; last.DefaultCmd != nil {
		path = append(path, last.DefaultCmd)
	}
	return path
}

// runID is the beginning of a run's id: a whole day at least.
var runID = regexp.MustCompile(`^\d{8}(-\d{0,6}(-[0-9a-f]{0,6})?)?$`)

// meant is the command that several words plainly were meant for: the first one
// nearly is its name, and what follows belongs to it. Ordinary words are no command:
// `flower tests for the parser` is an ask.
func (g *grammar) meant(word string, rest []string) (name string, ok bool) {
	names := childNames(g.root)
	for len(names) > 0 {
		near, found := spell.Near(word, names)
		if !found {
			return "", false
		}
		if g.fits(child(g.root, near), rest) {
			return near, true
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == near })
	}
	return "", false
}

// listed is the command that was meant where one of sessions stands before another
// one: `flower list sessions`.
func (g *grammar) listed(word string, rest []string) (name string, ok bool) {
	if !slices.Contains(sessionWords, word) || len(rest) != 1 || child(g.root, rest[0]) == nil {
		return "", false
	}
	if rest[0] == "sessions" {
		return "sessions " + word, true
	}
	return rest[0], true
}

// fits: what follows belongs to the command, and would mean nothing to the starter.
func (g *grammar) fits(node *kong.Node, rest []string) bool {
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			return belongs(node, w)
		}
		if w == "--" {
			return false
		}
		flag := flagWord(w)
		if flagOf(flag, g.root, g.starter) == nil && flagOf(flag, append([]*kong.Node{node}, node.Children...)...) != nil {
			return true
		}
		if g.takesValue(w) {
			i++
		}
	}
	return false
}

// topics are words behind a command that are no commands of their own, and takesRun
// the commands that are given the id of a run.
var (
	topics   = map[string]string{"doctor": "command", "runs": "last", "attach": "last"}
	takesRun = []string{"runs", "attach"}
)

// belongs: the word is a command below the node, or nearly one, a choice of its
// argument, a script, a file that is there, or the id of a run.
func belongs(node *kong.Node, w string) bool {
	if w == topics[node.Name] || slices.Contains(takesRun, node.Name) && runID.MatchString(w) {
		return true
	}
	if _, near := spell.Near(w, childNames(node)); near || strings.HasSuffix(w, ".lua") {
		return true
	}
	for _, arg := range node.Positional {
		if arg.Enum != "" && slices.Contains(strings.Split(arg.Enum, ","), w) {
			return true
		}
	}
	_, err := os.Stat(w)
	return err == nil
}

// classify tells a script from an ask. What nearly is a command or a script is an
// error: a typing slip must not start a paid run.
func (g *grammar) classify(word string, rest []string) (script bool, err error) {
	spaces := strings.ContainsAny(word, " \t\n")
	if strings.HasSuffix(word, ".lua") {
		_, near := spell.Near(word, filesBeside(word, ".lua"))
		if !spaces || near { // "mend fix.lua" is an ask
			return true, checkScript(word)
		}
	}
	info, err := os.Stat(word)
	switch {
	case err == nil && !info.IsDir():
		return true, nil
	case word == "--" && len(rest) == 1 && isScript(rest[0]):
		return false, wrongUse("what stands behind -- is a text, and %s is a script: flower %s. To have it made: flower go -- %s",
			rest[0], shellWord(rest[0]), shellWord(rest[0]))
	case word == "--" || spaces || word == "":
		return false, nil
	}
	plain := func(w string) bool { return !strings.HasPrefix(w, "-") }
	if !slices.ContainsFunc(rest, plain) {
		if err := slip(word, info != nil, childNames(g.root)); err != nil {
			return false, err
		}
	}
	if name, ok := g.listed(word, rest); ok {
		return false, wrongUse("%q is no command of its own — did you mean %q? To have it made: flower go %s", word, name, shellWords(word, rest))
	}
	if name, ok := g.meant(word, rest); ok {
		return false, wrongUse("%q is not a command — did you mean %q? To have it made: flower go %s", word, name, shellWords(word, rest))
	}
	return false, nil
}

// slip is what one bare word is that nearly is something else.
func slip(word string, folder bool, commands []string) error {
	if folder {
		return wrongUse("%s is a folder, not a script: flower -w %s works in it; to have it made: flower go %s", word, shellWord(word), shellWord(word))
	}
	if slices.Contains(sessionWords, word) {
		return wrongUse("%q is no command of its own — did you mean %q? To have it made: flower go %s", word, "sessions "+word, word)
	}
	if isScript(word + ".lua") {
		return wrongUse("%q is neither a command nor a script — did you mean %q? To have it made: flower go %s", word, word+".lua", shellWord(word))
	}
	if match, ok := spell.Near(word, append(filesBeside(".", ".lua"), commands...)); ok {
		return wrongUse("%q is neither a command nor a script — did you mean %q? To have it made: flower go %s", word, match, word)
	}
	return nil
}

// isScript: the name is that of a script that is there.
func isScript(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() && strings.HasSuffix(name, ".lua")
}

// shellWords are words as they can be typed again, as one text where one of them
// would be taken for a flag.
func shellWords(word string, rest []string) string {
	all := append([]string{word}, rest...)
	if slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return quote(strings.Join(all, " "))
	}
	for i, w := range all {
		all[i] = shellWord(w)
	}
	return strings.Join(all, " ")
}

// checkScript reports a script that is not there, with the near match, and a folder.
func checkScript(path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return wrongUse("there is no script %s%s", path, spell.Hint(path, filesBeside(path, ".lua")))
	case err == nil && info.IsDir():
		return wrongUse("%s is a folder, not a script", path)
	}
	return nil // what else may be wrong is said when it is read
}
