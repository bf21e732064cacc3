package luabind

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowerlua/flower/stdlib"
)

// annotations are what stdlib/meta says of the tables and functions that scripts
// have. A test holds it equal to what there is.
type annotations struct {
	parents   map[string]string
	fields    map[string]map[string]metaField // by class
	functions map[string][]string             // by the name before the dot or colon
	holders   map[string]string               // that name's class
	calls     map[string]signature            // by class, dot or colon, and name; of globals by the name
	open      map[string]bool                 // classes that have any other field too
	aliases   map[string]string               // types by the name they have
}

type metaField struct {
	optional bool
	kind     string // what follows the name
}

// signature is what a function takes and gives: types as they are written.
type signature struct {
	params  []string
	returns string
	// overloads are what it gives for a first argument that is a text.
	overloads map[string]string
}

var (
	classLine    = regexp.MustCompile(`^---@class ([\w.]+)(?:: ([\w.]+))?`)
	fieldLine    = regexp.MustCompile(`^---@field (\w+)(\??) (.+)`)
	aliasLine    = regexp.MustCompile(`^---@alias (\S+) (\S.*)$`)
	openLine     = regexp.MustCompile(`^---@field \[`)
	holderLine   = regexp.MustCompile(`^(?:local )?(\w+) = \{\}$`)
	paramLine    = regexp.MustCompile(`^---@param \S+ (\S+)`)
	returnLine   = regexp.MustCompile(`^---@return (\S+)`)
	overloadLine = regexp.MustCompile(`^---@overload fun\(\w+: "(\w+)".*\): (\S+)$`)
	functionLine = regexp.MustCompile(`^function (\w+)([.:])(\w+)\(.*\) end$`)
	globalLine   = regexp.MustCompile(`^function (\w+)\(.*\) end$`)
	// callbackType is a function among types, with its parameters.
	callbackType = regexp.MustCompile(`\bfun\(([^)]*)\)`)
)

// theAnnotations are read once: nobody changes them.
var theAnnotations = sync.OnceValues(func() (*annotations, error) { return readAnnotations(nil) })

// readAnnotations reads all files; each is also given to visit, which may be nil.
func readAnnotations(visit func(path, source string)) (*annotations, error) {
	a := &annotations{parents: map[string]string{}, fields: map[string]map[string]metaField{}, functions: map[string][]string{},
		holders: map[string]string{}, calls: map[string]signature{}, open: map[string]bool{}, aliases: map[string]string{}}
	err := fs.WalkDir(stdlib.Meta, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := stdlib.Meta.ReadFile(path)
		if err != nil {
			return err
		}
		if visit != nil {
			visit(path, string(raw))
		}
		a.read(string(raw))
		return nil
	})
	return a, err
}

func (a *annotations) read(source string) {
	class := ""
	var next signature
	for line := range strings.Lines(source) {
		line = strings.TrimSuffix(line, "\n")
		if m := classLine.FindStringSubmatch(line); m != nil {
			class = m[1]
			a.parents[class], a.fields[class] = m[2], map[string]metaField{}
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			a.fields[class][m[1]] = metaField{optional: m[2] == "?", kind: m[3]}
		} else if m := aliasLine.FindStringSubmatch(line); m != nil {
			a.aliases[m[1]] = m[2]
		} else if openLine.MatchString(line) {
			a.open[class] = true
		} else if m := holderLine.FindStringSubmatch(line); m != nil {
			a.holders[m[1]] = class
		} else if m := paramLine.FindStringSubmatch(line); m != nil {
			next.params = append(next.params, m[1])
		} else if m := returnLine.FindStringSubmatch(line); m != nil && next.returns == "" {
			next.returns = m[1]
		} else if m := overloadLine.FindStringSubmatch(line); m != nil {
			if next.overloads == nil {
				next.overloads = map[string]string{}
			}
			next.overloads[m[1]] = m[2]
		} else if m := functionLine.FindStringSubmatch(line); m != nil {
			a.functions[m[1]] = append(a.functions[m[1]], m[3])
			a.calls[a.holders[m[1]]+m[2]+m[3]] = next
			next = signature{}
		} else if m := globalLine.FindStringSubmatch(line); m != nil {
			a.calls[m[1]] = next
			next = signature{}
		}
	}
}

// of are the fields of a class, inherited ones too.
func (a *annotations) of(class string) map[string]metaField {
	all := map[string]metaField{}
	for ; class != ""; class = a.parents[class] {
		maps.Copy(all, a.fields[class])
	}
	return all
}

// members are the names that a class has, sorted; none where it is not known.
func (a *annotations) members(class string) []string {
	names := append(slices.Collect(maps.Keys(a.of(class))), a.functionsOf(class)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// functionsOf are the functions and methods of a class.
func (a *annotations) functionsOf(class string) (names []string) {
	for call := range a.calls {
		at := strings.LastIndexAny(call, ".:")
		if at >= 0 && call[:at] == class {
			names = append(names, call[at+1:])
		}
	}
	return names
}

// closed: the class has its members and no others.
func (a *annotations) closed(class string) bool {
	return class != "" && !a.open[class] && len(a.members(class)) > 0
}

// classOf is the class of a type: a name, with [] for a list and {} for a table of
// any names; "" for any other type.
func (a *annotations) classOf(kind string) string {
	if inner, ok := strings.CutPrefix(kind, "table<string, "); ok {
		inner, _, _ = strings.Cut(inner, ">")
		return a.known(inner, "{}")
	}
	kind, _, _ = strings.Cut(kind, " ")
	kind = strings.TrimSuffix(kind, "?")
	if inner, ok := strings.CutSuffix(kind, "[]"); ok {
		return a.known(inner, "[]")
	}
	return a.known(kind, "")
}

func (a *annotations) known(class, mark string) string {
	if _, ok := a.fields[class]; ok {
		return class + mark
	}
	return ""
}

// parameters are the types of what a callback is given, where a type is one.
func (a *annotations) parameters(kind string) (types []string) {
	m := callbackType.FindStringSubmatch(kind)
	if m == nil {
		return nil
	}
	for _, param := range strings.Split(m[1], ", ") {
		_, kind, _ := strings.Cut(param, ": ")
		types = append(types, kind)
	}
	return types
}

// alias is what a type's name stands for, or the type itself.
func (a *annotations) alias(kind string) string {
	name, _, _ := strings.Cut(kind, " ")
	if stands, ok := a.aliases[name]; ok {
		return stands
	}
	return kind
}
