package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/internal/spell"
)

// Efforts are the words for how hard to think; a number of tokens may stand
// for one.
var Efforts = []string{"low", "medium", "high", "xhigh", "max", "none"}

// Check reports the values in use that cannot work, each with its key, file and
// line, and without a secret.
func (s *Settings) Check() []error {
	var all []error
	for _, key := range Keys {
		if err := check(s.Lookup(key)); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// check reports a value that cannot work; an empty one is none.
func check(v Value) error {
	if v.Text == "" {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s of %s %s", v.Key, v.Place(), fmt.Sprintf(format, args...))
	}
	if strings.ContainsFunc(v.Text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return wrong("holds spaces or line ends: is something else in it?")
	}
	switch v.Key {
	case BaseURL:
		u, err := url.Parse(v.Text)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
			return wrong("is no address: give one like https://gateway.example")
		case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1"):
			return wrong("ends in /v1, which is added by itself: leave it out")
		}
	case Effort:
		if n, err := strconv.Atoi(v.Text); !slices.Contains(Efforts, v.Text) && (err != nil || n < 1) {
			return wrong("is %q; it is one of %s, or a number of tokens%s", v.Text, strings.Join(Efforts, ", "), spell.Hint(v.Text, Efforts))
		}
	}
	return nil
}
