package shell

import "slices"

// binaryTests and unaryTests are the operators of test and [.
var (
	binaryTests = []string{"=", "==", "!=", "<", ">", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o", ")", "]"}
	nameTests   = []string{"-v", "-R"}
)

// testWords judges test and [. Both only read, but for one thing: -v takes a
// name with an index, and the shell runs what is in the index. So nothing the
// shell expands may become that operator, and its name must be plain.
func (j *judge) testWords(words []word) bool {
	for i, w := range words {
		if w.split || w.glob {
			return j.refuse(w.node, "it may become several words, an operator among them: quote it")
		}
		last := i+1 == len(words)
		switch {
		case w.exact && slices.Contains(nameTests, w.text):
			if !last && !(words[i+1].exact && (identifier(words[i+1].text) || slices.Contains(binaryTests, words[i+1].text))) {
				return j.refuse(words[i+1].node, "%s may run what is in an index: only a plain name is known not to", w.text)
			}
		case !w.exact && w.option() && !last:
			if next := words[i+1]; !next.exact || !slices.Contains(binaryTests, next.text) {
				return j.refuse(w.node, "it could become an operator once expanded: compare it to something, or put the operator in front")
			}
		}
	}
	return true
}
