package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints what makes a shell complete flower's words.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionPlace is a place on the command line, named by the commands before it: "", "check",
// "sessions show".
type completionPlace struct {
	path  string
	words []word // commands and choices that may come
	flags []*kong.Flag
	files string // which files may come: lua, any, or none
}

// word is something to complete, with its help.
type word struct{ text, help string }

// completion prints the script for a shell. It is made of the same model that parses
// the command line.
func (a *app) completion(c *cli) error {
	parser, err := newParser(&cli{}, &writerPair{a.out.Write}, &writerPair{a.err.Write})
	if err != nil {
		return err
	}
	root := completionPlaces(parser.Model.Node)
	write := map[string]func([]completionPlace) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Completion.Shell]
	fmt.Fprint(a, write(root))
	return nil
}

// completionPlaces are all places, that of the first word first.
func completionPlaces(root *kong.Node) []completionPlace {
	first := completionPlace{flags: slices.Clone(root.Flags), files: "lua"}
	all := []completionPlace{first}
	for _, command := range root.Children {
		all[0].words = append(all[0].words, word{command.Name, command.Help})
		if command.Name == "go" { // the word can be left out
			all[0].flags = append(all[0].flags, command.Flags...)
		}
		useful := slices.DeleteFunc(slices.Clone(root.Flags), func(f *kong.Flag) bool { return f.Name != "help" && !means(command.Name, f.Name) })
		all = append(all, commandPlaces(command, command.Name, useful)...)
	}
	return all
}

func commandPlaces(node *kong.Node, path string, outer []*kong.Flag) []completionPlace {
	p := completionPlace{path: path, flags: append(slices.Clone(node.Flags), outer...), files: "none"}
	for _, arg := range node.Positional {
		switch {
		case arg.Enum != "":
			for _, choice := range strings.Split(arg.Enum, ",") {
				p.words = append(p.words, word{choice, arg.Help})
			}
		case arg.Name == "run": // an id
		case strings.HasSuffix(arg.Name, ".lua") || arg.Name == "script":
			p.files = "lua"
		case p.files == "none":
			p.files = "any"
		}
	}
	if topic := topics[node.Name]; topic != "" {
		p.words = append(p.words, word{topic, "see flower " + node.Name + " --help"})
	}
	var below []completionPlace
	for _, child := range node.Children {
		p.words = append(p.words, word{child.Name, child.Help})
		below = append(below, commandPlaces(child, path+" "+child.Name, p.flags)...)
	}
	return append([]completionPlace{p}, below...)
}

// spellings are the ways to type a flag.
func spellings(f *kong.Flag) []string {
	all := []string{"--" + f.Name}
	if f.Short != 0 {
		all = append(all, "-"+string(f.Short))
	}
	return all
}

// valued are the flags of all places that take a value, each once.
func valued(places []completionPlace) []*kong.Flag {
	var all []*kong.Flag
	seen := map[string]bool{}
	for _, p := range places {
		for _, f := range p.flags {
			if key := strings.Join(spellings(f), "|"); !f.IsBool() && !seen[key] {
				seen[key] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// valueKind says what a flag's value is: one of the choices, or lua, dir, any or
// none for files.
func valueKind(f *kong.Flag) (choices []string, files string) {
	switch {
	case f.Enum != "":
		return strings.Split(f.Enum, ","), "none"
	case f.Name == "rehearse":
		return nil, "lua"
	case f.PlaceHolder == "DIR":
		return nil, "dir"
	case f.PlaceHolder == "FILE":
		return nil, "any"
	}
	return nil, "none"
}

func joined(words []word) string {
	var all []string
	for _, w := range words {
		all = append(all, w.text)
	}
	return strings.Join(all, " ")
}

// quote puts a text between single quotes of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// walkWords finds the commands before the word that is typed, in bash and zsh; %s are
// the array, its first index, its end and the patterns of flags with a value.
const walkWords = `  for ((i = %[2]s; i < %[3]s; i++)); do
    word=%[1]s
    if [[ $word == = ]]; then # between a flag and its value, in bash
      continue
    fi
    if [[ -n $skip ]]; then
      skip=
      continue
    fi
    case $word in
      %[4]s) skip=1 ;;
      -*) ;;
      *)
        case $command in
          '') command=$word ;;
          sessions|run) command="$command $word" ;;
        esac
        ;;
    esac
  done
`

func valuePatterns(places []completionPlace) string {
	var all []string
	for _, f := range valued(places) {
		all = append(all, spellings(f)...)
	}
	return strings.Join(all, "|")
}

func bashCompletion(places []completionPlace) string {
	var b strings.Builder
	b.WriteString(`# bash completion of flower: source <(flower completion bash)

_flower_add() {
  local found
  while IFS= read -r found; do
    COMPREPLY+=("$found")
  done
}

_flower_files() {
  compopt -o filenames 2>/dev/null
  case $1 in
    lua) _flower_add < <(compgen -f -X '!*.lua' -- "$cur"; compgen -d -- "$cur") ;;
    dir) _flower_add < <(compgen -d -- "$cur") ;;
    any) _flower_add < <(compgen -f -- "$cur") ;;
  esac
}

_flower() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local command= word= skip= words= flags= files=any i
  COMPREPLY=()
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
`)
	fmt.Fprintf(&b, walkWords, "${COMP_WORDS[i]}", "1", "COMP_CWORD", valuePatterns(places))
	b.WriteString("  if [[ -n $skip ]]; then\n    case $prev in\n")
	for _, f := range valued(places) {
		choices, files := valueKind(f)
		action := "_flower_files " + files
		if choices != nil {
			action = fmt.Sprintf(`_flower_add < <(compgen -W %s -- "$cur")`, quote(strings.Join(choices, " ")))
		}
		if files != "none" || choices != nil {
			fmt.Fprintf(&b, "      %s) %s ;;\n", strings.Join(spellings(f), "|"), action)
		}
	}
	b.WriteString("    esac\n    return\n  fi\n  case $command in\n")
	for _, p := range places {
		var flags []string
		for _, f := range p.flags {
			flags = append(flags, spellings(f)...)
		}
		fmt.Fprintf(&b, "    %s) words=%s flags=%s files=%s ;;\n", quote(p.path), quote(joined(p.words)), quote(strings.Join(append(flags, "--help"), " ")), p.files)
	}
	b.WriteString(`  esac
  if [[ $cur == -* && -n $flags ]]; then
    _flower_add < <(compgen -W "$flags" -- "$cur")
    return
  fi
  [[ -n $words ]] && _flower_add < <(compgen -W "$words" -- "$cur")
  _flower_files "$files"
}

complete -F _flower flower
`)
	return b.String()
}

func zshCompletion(places []completionPlace) string {
	var b strings.Builder
	b.WriteString(`#compdef flower
# zsh completion of flower: flower completion zsh >"${fpath[1]}/_flower"

_flower_files() {
  case $1 in
    lua) _files -g '*.lua' ;;
    dir) _files -/ ;;
    any) _files ;;
  esac
}

_flower() {
  local command= word= skip= files=any i
  local prev=$words[CURRENT-1]
  local -a choices flags
`)
	fmt.Fprintf(&b, walkWords, "$words[i]", "2", "CURRENT", valuePatterns(places))
	b.WriteString(`  if [[ $words[CURRENT] == --*=* ]]; then
    prev=${words[CURRENT]%%=*}
    skip=1
    compset -P 1 '*='
  fi
  if [[ -n $skip ]]; then
    case $prev in
`)
	for _, f := range valued(places) {
		choices, files := valueKind(f)
		action := "_flower_files " + files
		if choices != nil {
			action = "compadd -- " + strings.Join(choices, " ")
		}
		if files != "none" || choices != nil {
			fmt.Fprintf(&b, "      %s) %s ;;\n", strings.Join(spellings(f), "|"), action)
		}
	}
	b.WriteString("    esac\n    return\n  fi\n  case $command in\n")
	described := func(text, help string) string { return quote(strings.ReplaceAll(text, ":", `\:`) + ":" + help) }
	for _, p := range places {
		fmt.Fprintf(&b, "    %s)\n      files=%s\n      choices=(", quote(p.path), p.files)
		for _, w := range p.words {
			fmt.Fprintf(&b, "\n        %s", described(w.text, w.help))
		}
		b.WriteString(")\n      flags=(")
		for _, f := range p.flags {
			for _, s := range spellings(f) {
				fmt.Fprintf(&b, "\n        %s", described(s, f.Help))
			}
		}
		b.WriteString(")\n      ;;\n")
	}
	b.WriteString(`  esac
  if [[ $words[CURRENT] == -* && -n $flags ]]; then
    _describe -o flag flags
    return
  fi
  [[ -n $choices ]] && _describe command choices
  _flower_files $files
}

if [[ $funcstack[1] == _flower ]]; then
  _flower "$@"
else
  compdef _flower flower
fi
`)
	return b.String()
}

func fishCompletion(places []completionPlace) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# fish completion of flower: flower completion fish >~/.config/fish/completions/flower.fish

function __flower_command
    set -l command
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case %s
                set skip 1
            case '-*'
            case '*'
                if test -z "$command"
                    set command $word
                else if contains -- "$command" sessions run
                    set command "$command $word"
                end
        end
    end
    echo $command
end

function __flower_at
    test (__flower_command) = "$argv[1]"
end

function __flower_script
    not contains -- (__flower_command) %s
end

complete -c flower -f
complete -c flower -n __flower_script -F
`, fishWords(strings.Split(valuePatterns(places), "|")), fishWords(paths(places)))
	for _, p := range places {
		at := "-n " + fishQuote("__flower_at "+fishQuote(p.path))
		for _, w := range p.words {
			fmt.Fprintf(&b, "complete -c flower %s -a %s -d %s\n", at, w.text, fishQuote(w.help))
		}
		switch p.files {
		case "lua":
			fmt.Fprintf(&b, "complete -c flower %s -k -a '(__fish_complete_suffix .lua)'\n", at)
		case "any":
			fmt.Fprintf(&b, "complete -c flower %s -F\n", at)
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "complete -c flower %s %s\n", at, fishFlag(f))
		}
	}
	return b.String()
}

func paths(places []completionPlace) []string {
	all := make([]string, len(places))
	for i, p := range places {
		all[i] = p.path
	}
	return all
}

func fishFlag(f *kong.Flag) string {
	text := "-l " + f.Name
	if f.Short != 0 {
		text += " -s " + string(f.Short)
	}
	if !f.IsBool() {
		text += " -r"
		switch choices, files := valueKind(f); {
		case choices != nil:
			text += " -a " + fishQuote(strings.Join(choices, " "))
		case files == "lua":
			text += " -a '(__fish_complete_suffix .lua)'"
		case files == "dir":
			text += " -a '(__fish_complete_directories)'"
		case files == "any":
			text += " -F"
		}
	}
	return text + " -d " + fishQuote(f.Help)
}

func fishWords(words []string) string {
	for i, w := range words {
		words[i] = fishQuote(w)
	}
	return strings.Join(words, " ")
}

// fishQuote puts a text between single quotes of fish, where a backslash escapes.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
