package shell

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The tables are text, read once when the first line is judged. Their form is
// described at the top of tables/README.md.
//
//go:embed tables/*.txt
var tableFiles embed.FS

// commandFiles are the tables of commands, in the order they are read.
var commandFiles = []string{"shell.txt", "files.txt", "system.txt", "git.txt", "containers.txt", "tools.txt"}

type table struct {
	commands  map[string]*rule
	refused   map[string]string // commands people will try, and why not
	variables names
	settings  names // of git -c
	sets      map[string]*options
}

// tables is the one table. A row that cannot be read is left out, which makes
// its command unknown; the tests see to it that there is none.
var tables = sync.OnceValue(func() *table {
	t, _ := loadTable()
	return t
})

func loadTable() (*table, error) {
	t := &table{commands: map[string]*rule{}, refused: map[string]string{}, sets: map[string]*options{}}
	var errs []error
	for _, f := range commandFiles {
		errs = append(errs, eachRow(f, t.addCommand))
	}
	errs = append(errs, eachRow("refused.txt", t.addRefused), eachRow("names.txt", t.addName))
	return t, errors.Join(errs...)
}

// eachRow calls add with the fields of every row: text between bars, without
// comments and the space around.
func eachRow(file string, add func(fields []string) error) error {
	data, err := tableFiles.ReadFile("tables/" + file)
	if err != nil {
		return fmt.Errorf("table %s: %w", file, err)
	}
	var errs []error
	for i, line := range strings.Split(string(data), "\n") {
		if line, _, _ = strings.Cut(line, "# "); strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "|")
		for k := range fields {
			fields[k] = strings.TrimSpace(fields[k])
		}
		if err := add(fields); err != nil {
			errs = append(errs, fmt.Errorf("table %s, line %d: %w", file, i+1, err))
		}
	}
	return errors.Join(errs...)
}

func (t *table) addRefused(f []string) error {
	if len(f) != 2 || f[1] == "" {
		return errors.New("want: names | why")
	}
	for name := range strings.FieldsSeq(f[0]) {
		t.refused[name] = f[1]
	}
	return nil
}

func (t *table) addName(f []string) error {
	if len(f) != 3 {
		return errors.New("want: variable or setting | deny or allow | patterns")
	}
	lists := map[string]*names{"variable": &t.variables, "setting": &t.settings}
	to := lists[f[0]]
	if to == nil || f[1] != "deny" && f[1] != "allow" {
		return fmt.Errorf("%s %s is no list", f[0], f[1])
	}
	for p := range strings.FieldsSeq(f[2]) {
		if f[1] == "deny" {
			to.deny = append(to.deny, p)
		} else {
			to.allow = append(to.allow, p)
		}
	}
	return nil
}

// addCommand reads a row "command | arguments | options", or "@set | | options".
func (t *table) addCommand(f []string) error {
	if len(f) != 3 {
		return errors.New("want: command | arguments | options")
	}
	if strings.HasPrefix(f[0], "@") {
		r := &rule{}
		t.sets[f[0]] = &r.options
		return t.addOptions(r, f[2])
	}
	r := &rule{name: f[0], max: -1}
	if err := r.addArguments(f[1]); err != nil {
		return err
	}
	if err := t.addOptions(r, f[2]); err != nil {
		return err
	}
	if r.anyOption && (r.max >= 0 || r.like != "" || r.lacks != "" || r.unlike != "" || r.sub || r.run) {
		return errors.New("* is for commands whose arguments do not matter")
	}
	return t.place(r)
}

// place puts a row under its command; a/b is two names for the last word.
func (t *table) place(r *rule) error {
	words := strings.Fields(r.name)
	if r.name == "while read" {
		words = []string{r.name}
	}
	at := t.commands
	for i, w := range words {
		if i < len(words)-1 {
			parent := at[w]
			if parent == nil {
				return fmt.Errorf("there is no row for %s above it", w)
			}
			at = parent.subs
			continue
		}
		subs := map[string]*rule{}
		for name := range strings.SplitSeq(w, "/") {
			if at[name] != nil {
				return fmt.Errorf("there are two rows for %s", name)
			}
			own := *r
			own.name, own.subs = strings.Join(append(slices.Clone(words[:i]), name), " "), subs
			at[name] = &own
		}
	}
	return nil
}

func (r *rule) addArguments(text string) error {
	if why, ok := strings.CutPrefix(text, "never "); ok {
		r.never = strings.TrimSpace(why)
		return nil
	}
	for field := range strings.FieldsSeq(text) {
		key, val, has := strings.Cut(field, "=")
		add := r.addMark
		if has {
			add = func(key string) error { return r.addArgument(key, val) }
		}
		if err := add(key); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

func (r *rule) addArgument(key, val string) (err error) {
	list := strings.Split(val, ",")
	switch key {
	case "max":
		r.max, err = strconv.Atoi(val)
	case "min":
		r.min, err = strconv.Atoi(val)
	case "skip":
		r.skip, err = strconv.Atoi(val)
	case "need":
		r.need = list
	case "alone":
		r.alone = list
	case "free":
		r.free = list
	case "query":
		r.query = list
	case "like":
		r.like = val
	case "unlike":
		r.unlike = val
	case "second":
		r.second = val
	case "lacks":
		r.lacks = val
	case "config":
		r.config = val
	case "code":
		r.code = val
	case "token":
		r.token, r.tokenOptions = true, map[string]bool{}
		for _, o := range list {
			r.tokenOptions[o] = true
		}
	default:
		return errors.New("this says nothing about arguments")
	}
	return err
}

func (r *rule) addMark(mark string) error {
	marks := map[string]*bool{
		"sub": &r.sub, "stop": &r.stop, "whole": &r.whole, "apart": &r.apart,
		"bundle": &r.bundle, "run": &r.run, "env": &r.env, "token": &r.token,
	}
	switch {
	case mark == "none":
		r.max = 0
	case mark == "version":
		r.version = []string{}
	case marks[mark] == nil:
		return errors.New("this says nothing about arguments")
	default:
		*marks[mark] = true
	}
	return nil
}

func (t *table) addOptions(r *rule, text string) error {
	for o := range strings.FieldsSeq(text) {
		switch {
		case o == "*":
			r.anyOption = true
		case r.version != nil:
			r.version = append(r.version, o)
		case o == "-NUM":
			r.number = true
		case strings.HasPrefix(o, "@"):
			if t.sets[o] == nil {
				return fmt.Errorf("there is no set %s above it", o)
			}
			r.sets = append(r.sets, t.sets[o])
		case !strings.HasPrefix(o, "-"):
			return fmt.Errorf("%s is no option", o)
		default:
			if err := r.addOption(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rule) addOption(o string) error {
	a := flag
	switch {
	case strings.HasSuffix(o, ":"):
		a, o = value, o[:len(o)-1]
	case len(o) > 2 && strings.HasSuffix(o, "?"):
		a, o = attached, o[:len(o)-1]
	}
	if strings.HasPrefix(o, "--") || r.whole {
		if r.long == nil {
			r.long = map[string]arity{}
		}
		r.long[strings.TrimPrefix(strings.TrimPrefix(o, "-"), "-")] = a
		return nil
	}
	if a != flag && len(o) != 2 {
		return fmt.Errorf("%s: a value belongs to one letter", o)
	}
	for i := 1; i < len(o); i++ {
		r.short[o[i]&127] = a
	}
	return nil
}
