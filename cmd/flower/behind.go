package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// freeing are the flags whose place behind the script would cost money: who types
// them wants a run that costs none.
var freeing = []string{"rehearse", "playback"}

// ownBehind are the words behind a script, as far as the first --, that are flags of
// ours by their looks, and are the script's by their place.
func ownBehind(root *kong.Node, args []string) (words []string) {
	for _, w := range args {
		if w == "--" {
			break
		}
		if f := flagOf(flagWord(w), root); f != nil && f.Name != "help" {
			words = append(words, w)
		}
	}
	return words
}

// checkBehind tells a person that flags behind the script are the script's. Where a
// run would cost money that was to cost none, it is not begun.
func (a *app) checkBehind(c *cli, root *kong.Node, args []string) error {
	var given []string
	for _, w := range ownBehind(root, args) {
		f := flagOf(flagWord(w), root)
		if slices.Contains(freeing, f.Name) && c.Rehearse == "" && c.Playback == "" {
			return wrongBehind(c.Run.Script, args, w)
		}
		if flag := flagWord(w); !slices.Contains(given, flag) {
			given = append(given, flag)
		}
	}
	switch len(given) {
	case 0:
	case 1:
		a.complain("note: " + given[0] + " stands behind the script and is given to it; flower's own flags come before the script")
	default:
		a.complain("note: " + strings.Join(given, ", ") + " stand behind the script and are given to it; flower's own flags come before the script")
	}
	return nil
}

// wrongBehind names both things that can be meant.
func wrongBehind(script string, args []string, word string) error {
	flag, value, joined := strings.Cut(word, "=")
	if at := slices.Index(args, word); !joined && at+1 < len(args) {
		value = args[at+1]
	}
	typed := flag
	if value != "" {
		typed += " " + shellWord(value)
	}
	script = shellWord(script)
	return wrongUse("%s stands behind the script, and would be given to it while a model that costs money runs; flower's own flags come before the script: flower %s %s. "+
		"To give it to the script (with the --): flower %s -- %s", flag, typed, script, script, typed)
}
