package shell

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// lineGenerator makes command lines out of the tables' own words and of others:
// options of other commands, scripts that write, names that look like options.
// All it can harm lies in the folder it runs in: there are no absolute paths
// in its alphabet but those of /dev.
type lineGenerator struct {
	*rand.Rand
	rows     []*rule
	scripted []*rule // those of sed and awk, which have a language to get wrong
}

// newLineGenerator takes the rows of the given tables whose command is
// accepted by have.
func newLineGenerator(t testing.TB, seed uint64, have func(command string) bool, files ...string) *lineGenerator {
	g := &lineGenerator{Rand: rand.New(rand.NewPCG(seed, 0))}
	for _, file := range files {
		err := eachRow(file, func(f []string) error {
			words := strings.Fields(f[0])
			if strings.HasPrefix(f[0], "@") || f[0] == "while read" {
				return nil
			}
			for name := range strings.SplitSeq(words[len(words)-1], "/") {
				path := append(slices.Clone(words[:len(words)-1]), name)
				if !have(path[0]) {
					continue
				}
				r := tables().commands[path[0]]
				for _, w := range path[1:] {
					r = r.subs[w]
				}
				own := *r
				own.name = strings.Join(path, " ")
				g.rows = append(g.rows, &own)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range g.rows {
		if r.code == "sed" || r.code == "awk" {
			g.scripted = append(g.scripted, r)
		}
	}
	if len(g.rows) == 0 {
		t.Skip("none of the commands is installed")
	}
	return g
}

var (
	someOperands = strings.Fields(`a.txt b.txt new.out sub sub/c.txt data.tsv a.gz a.xz a.bz2 a.tar 1 5 HEAD main topic v1 HEAD~1 a.txt b.txt
		- -- . "$f" $f ./*.txt *.txt * sub/* {a.txt,new.out} ~ "$(pwd)" $(echo -o) $((1-2)) script.sed x.sh -o -i -w -d -delete --output=new.out`)
	alienOptions = strings.Fields(`-o -onew.out -i -i.bak -w -d -D -x -O -C -R -f -e -k -n -s -r -l -L -Z -W -S --output=new.out --output
		--in-place --in-pl --out=new.out -delete -fls -fprint --compile --set --ext-diff --textconv --lost-found -p -u --`)
	redirections = []string{">/dev/null", "2>&1", ">&2", "2>/dev/null", "<a.txt", "</dev/null", "<<<x", "3</dev/null",
		">new.out", ">>new.out", ">|new.out", "&>new.out", "<>new.out", "1<a.txt", ">/dev/stdout", "2<b.txt", ">&0", ">/dev/stderr", "3<a.txt", ">&3", ">$f"}
	prefixes = []string{"A=1", "LC_ALL=C", "TZ=UTC", "PATH=.", "PAGER='touch new.out'", "GIT_PAGER=./x.sh", "GIT_EXTERNAL_DIFF=./x.sh", "f=-onew.out",
		"GIT_DIR=.git", "LESSOPEN='|touch new.out'", "A=$(touch new.out)", "SECONDS='a[$(touch new.out)]'", "IFS=."}
	wrappers  = []string{"command", "env", "env A=1", "env -u A", "nice", "timeout 5", "time", "builtin", "env -i PATH=.", "stdbuf -oL", "timeout -k 1 5", "nice -n 5", "env -S"}
	loopItems = []string{"a.txt ./-o", "* -onew.out", "expire delete edit list", "'+!touch new.out' +F", "HEAD main", "1 5", "./*.txt", "'w new.out' p", "new.out", "xf tf", "@script.sed", "'a -o new.out'", "$(ls)", "{1..3}", "a=1 PAGER=./x.sh"}
	writers   = []string{"touch new.out", "rm a.txt", "cp a.txt new.out", "mv a.txt new.out", "tee new.out", "./x.sh", "sh x.sh", "xargs touch", "git add -A", "git tag v2",
		"git branch new", "git stash", "mkdir new.d", "ln -s a.txt new.out", "truncate -s 0 a.txt", "eval touch new.out", ". ./x.sh", "dd of=new.out"}
	sedPieces = []string{"p", "d", "s/a/b/", "s/a/b/g", "s|a|b|p", "w new.out", "s/a/b/w new.out", "s/a/b/e", "e", "1e touch new.out", "a x", "a\\", "i\\", "b", "b x", ":x", ":x w new.out",
		"t", "/a/", "/[/]/", "1,2", "$", "{", "}", "{p", "p}", "y/a/b/", "=", "r a.txt", "R a.txt", "q", "n", "#", "s/[/]w new.out/x/", "s/a/\\\nb/", "\\,a,p", "c x", "W new.out", "l 5", "!p", "0~2", "F", "z", "s/a/b/mw new.out", "I", "e touch new.out",
		"w", " w new.out", "s/a/b/;w new.out", "a\\\n", "}w new.out", "{w new.out", "s,a,b,;", "s/[a/]/b/", "s/[]/]/b/", "s/[^]/]/b/", "s/[[:alpha:]/]/b/", "s/\\/w new.out/", "\\/a/", "$!N", "1!w new.out", "y/a\\/b/c/", "b;w new.out", "b x;p", "bx w new.out", "v", "//", "s//b/", "s/a/\\/w new.out", "D", "G", "h", "-", "+1", "~2", "\\"}
	awkPieces = []string{"print", "print $1", "printf \"%s\\n\", $1", "> \"new.out\"", ">> \"new.out\"", "| \"cat > new.out\"", "system(\"touch new.out\")", "\"touch new.out\" | getline", "getline", "< \"a.txt\"",
		"{", "}", "(", ")", "/a/", "/", "/[/]/", "\"", "\"/\"", "\"x\"", "$1", "> 2", ">= 2", "1", "/ 2", "if (1)", "while (0)", "x", "=", ",", ";", "\n", "\\\n", "#", "BEGIN", "END", "length", "++", "x[1]", "~", "!", "&&", "||", "?", ":", "in", "@f(1)", "close(\"a\")", "next", "$NF", "function f(a)", "f(1)",
		"/\"/", "/\\//", "\"a\\\"b\"", "\"\\\\\"", "1e5", "0x1", ".5", "/a\\", "'", "print(1)(2)", "print 1,", "else", "do", "length()", "a[1]", "--", "in a", "delete a", "$", "%", "^", "**", "+=", "/=", "-"}
)

func (g *lineGenerator) of(list []string) string { return list[g.IntN(len(list))] }

func (g *lineGenerator) chance(percent int) bool { return g.IntN(100) < percent }

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "") + "'" }

// shellTokens are what the parser and the shell could disagree on, with a
// writer among them that may end up in a comment, a string or a here-document.
var shellTokens = []string{"ls", "echo", "cat", " ", " ", " ", "\n", ";", "&&", "|", "'", "\"", "\\", "`", "$(", ")", "(",
	"<<E\n", "<<'E'\n", "<<-E\n", "<<\\E\n", "<<\"E\"\n", "\nE\n", "\n\tE\n", "\nE", "E", "#", "#", "\\\n", "\\\n", "\\\\", "\\'", "\\\"", "\\`", "\r",
	"touch new.out", "touch new.out", "\ntouch new.out\n", "[[ ", " ]]", "{", "}", "{ ", "; }", "=", "x=", "${x:-", "$((", "))", "<(", "<<<", "<", "$'", "$\"", "$",
	"!", "\t", "a", "&", "~", "*", "[", "%", "-", "@", "if ", "then ", "fi", "time ", "case a in ", "a)", ";;", "esac", "@(a)", "\u3000"}

// tokens is a line of them that mentions the writer and is called ephemeral;
// one in thousands is.
func (g *lineGenerator) tokens(tries int) (line string, ok bool) {
	for range tries {
		var b strings.Builder
		for range 2 + g.IntN(9) {
			b.WriteString(g.of(shellTokens))
		}
		if line := b.String(); strings.Contains(line, "touch") && Ephemeral(line) {
			return line, true
		}
	}
	return "", false
}

// line is one line; roughly a third of them are ephemeral.
func (g *lineGenerator) line() string {
	x := g.command()
	switch g.IntN(22) {
	case 0:
		return "for f in " + g.of(loopItems) + "; do " + x + "; done"
	case 1:
		return "for f in " + g.of(loopItems) + "; do " + x + "; " + g.command() + "; done"
	case 2:
		return "if " + x + "; then " + g.command() + "; fi"
	case 3:
		return "(" + x + ")"
	case 4:
		return x + " | " + g.command()
	case 5:
		return x + " && " + g.command()
	case 6:
		return x + "\n" + g.command()
	case 7:
		return "echo $(" + x + ")"
	case 8:
		return "echo \"`" + x + "`\" ${x:-$(" + g.command() + ")}"
	case 9:
		return "while read -r f; do " + x + "; done <a.txt"
	case 10:
		return "cat <(" + x + ") <<EOF\n$(" + g.command() + ")\nEOF"
	case 11:
		return g.of([]string{x + " &", x + " |& cat", "! " + x, "{ " + x + "; } >/dev/stdout", "time " + x, "cd sub && " + x})
	case 12:
		return g.of([]string{"echo $((", "[[ 1 -eq ", "test -v ", "echo ${x:="}) + g.of([]string{"1", "f", "'a[$(touch new.out)]'", "a[$(touch new.out)]", "x"}) + g.of([]string{"))", " ]]", "", "}"}) + "; " + x
	}
	return x
}

func (g *lineGenerator) command() string {
	if g.chance(8) {
		return g.of(writers)
	}
	var b strings.Builder
	if g.chance(10) {
		b.WriteString(g.of(prefixes) + " ")
	}
	if g.chance(8) {
		b.WriteString(g.of(wrappers) + " ")
	}
	r := g.rows[g.IntN(len(g.rows))]
	if len(g.scripted) > 0 && g.chance(15) {
		r = g.scripted[g.IntN(len(g.scripted))]
	}
	b.WriteString(r.name)
	for range g.IntN(4) {
		b.WriteString(" " + g.option(r))
	}
	switch r.code {
	case "sed":
		b.WriteString(" " + quoted(g.soup(sedPieces, []string{";", "\n", "", " "})))
	case "awk":
		b.WriteString(" " + quoted(g.soup(awkPieces, []string{" ", "", " "})))
	}
	for range g.IntN(3) {
		b.WriteString(" " + g.of(someOperands))
	}
	if strings.HasPrefix(r.name, "[") {
		b.WriteString(" ]")
	}
	if g.chance(15) {
		b.WriteString(" " + g.of(redirections))
	}
	return b.String()
}

func (g *lineGenerator) soup(pieces, glue []string) string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteString(g.of(pieces) + g.of(glue))
	}
	return b.String()
}

func (g *lineGenerator) option(r *rule) string {
	if g.chance(15) {
		return g.of(alienOptions)
	}
	if g.chance(5) {
		return fmt.Sprintf("-%c", 'A'+g.IntN(58))
	}
	own := optionsOf(&r.options, r.whole)
	for _, s := range r.sets {
		own = append(own, optionsOf(s, r.whole)...)
	}
	if len(r.need) > 0 && g.chance(50) {
		own = r.need
	}
	if len(own) == 0 {
		return g.of(someOperands)
	}
	o := g.of(own)
	if name, takes := strings.CutSuffix(o, ":"); takes {
		sep := g.of([]string{" ", " ", "", "="})
		return name + sep + g.of(someOperands)
	}
	return o
}

// optionsOf lists options the way a row writes them, sorted so that a seed
// stands for the same lines in every run.
func optionsOf(o *options, whole bool) []string {
	var out []string
	for c, a := range o.short {
		if a != unknown {
			out = append(out, "-"+string(rune(c))+map[arity]string{value: ":"}[a])
		}
	}
	for name, a := range o.long {
		dash := "--"
		if whole {
			dash = "-"
		}
		out = append(out, dash+name+map[arity]string{value: ":"}[a])
	}
	if o.number {
		out = append(out, "-3")
	}
	slices.Sort(out)
	return out
}
