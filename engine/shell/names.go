package shell

import "strings"

// names is a list of patterns for variables or settings, from tables/names.txt.
// A pattern is a name with perhaps one * at its beginning or its end.
type names struct {
	allow, deny []string
}

// denied reports whether a name that is harmless unless listed is listed.
func (n *names) denied(name string) bool {
	return matches(n.deny, name) && !matches(n.allow, name)
}

// allowed reports whether a name that is harmful unless listed is listed.
func (n *names) allowed(name string) bool {
	return matches(n.allow, name)
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		switch {
		case p == name,
			strings.HasSuffix(p, "*") && strings.HasPrefix(name, p[:len(p)-1]),
			strings.HasPrefix(p, "*") && strings.HasSuffix(name, p[1:]):
			return true
		}
	}
	return false
}
