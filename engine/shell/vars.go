package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables holds what is known of the variables that loops of a line fill.
type variables map[string]variable

type variable struct {
	steady bool // no value of it begins with a dash or is empty
	single bool // unquoted it stays one word
	number bool // every value is a number
}

// loopVariables finds them before anything is judged: a loop further down or
// inside may fill the same name, and then only what holds for all of its values
// is known. While it looks, j knows of no variables at all.
func loopVariables(j *judge, file *syntax.File) variables {
	if !strings.Contains(j.src, "for") && !strings.Contains(j.src, "read") {
		return nil
	}
	v := variables{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.WordIter:
			of := variable{steady: len(n.Items) > 0, single: true, number: true}
			for _, item := range n.Items {
				of = of.both(ofItem(j.classify(item)))
			}
			v.add(n.Name.Value, of)
		case *syntax.BinaryArithm:
			v.addNumber(n.X)
		case *syntax.UnaryArithm:
			v.addNumber(n.X)
		case *syntax.CallExpr:
			// read is only allowed with literal names; what it reads can be anything.
			if len(n.Args) > 0 && n.Args[0].Lit() == "read" {
				for _, a := range n.Args[1:] {
					v.add(a.Lit(), variable{})
				}
				v.add("REPLY", variable{})
			}
		}
		return true
	})
	return v
}

// addNumber takes every name arithmetic may set for one that it does set; the
// number may be negative.
func (v variables) addNumber(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && identifier(w.Lit()) {
		v.add(w.Lit(), variable{single: true, number: true})
	}
}

func (v variables) add(name string, of variable) {
	if old, ok := v[name]; ok {
		of = of.both(old)
	}
	v[name] = of
}

func (a variable) both(b variable) variable {
	return variable{a.steady && b.steady, a.single && b.single, a.number && b.number}
}

func ofItem(w word) variable {
	return variable{
		steady: !w.split && w.text != "" && w.text[0] != '-',
		single: w.exact && !strings.ContainsAny(w.text, " \t\n*?[\\"),
		number: w.exact && digits(w.text) || numbers(w.node.Lit()),
	}
}

// numbers is a range such as {1..5}.
func numbers(lit string) bool {
	if !strings.HasPrefix(lit, "{") || strings.IndexByte(lit, '}') != len(lit)-1 {
		return false
	}
	_, start := brace(lit)
	return start == opaque
}

// variable refuses names whose value makes other programs run, write or read
// something else. The list is tables/names.txt.
func (j *judge) variable(at syntax.Node, name string) bool {
	if !identifier(name) {
		return j.refuse(at, "%s is not a plain name of a variable", name)
	}
	if j.table.variables.denied(name) {
		return j.refuse(at, "%s is a variable that makes programs run or find something else", name)
	}
	return true
}

// assigns judges the assignments in front of a command.
func (j *judge) assigns(list []*syntax.Assign) bool {
	for _, a := range list {
		if a.Array != nil || a.Index != nil || a.Append || a.Name == nil {
			return j.refuse(a, "only NAME=value is known to be harmless in front of a command")
		}
		if !j.variable(a, a.Name.Value) || !j.expand(a.Value) {
			return false
		}
	}
	return true
}
