package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// completions are what a person types and what the line is after Tab.
var completions = []struct{ typed, want string }{
	{"flower sess", "flower sessions"},
	{"flower comp", "flower completion"},
	{"flower sessions exp", "flower sessions export"},
	{"flower -v sessions exp", "flower -v sessions export"},
	{"flower completion zs", "flower completion zsh"},
	{"flower doctor com", "flower doctor command"},
	{"flower --roun", "flower --rounds"},
	{"flower sessions export --run", "flower sessions export --run-dir"},
	{"flower sessions show --ag", "flower sessions show --agent"},
	{"flower sessions delete --dr", "flower sessions delete --dry-run"},
	{"flower replay --wat", "flower replay --watch"},
	{"flower doctor --onl", "flower doctor --online"},
	{"flower --harness cl", "flower --harness claude"},
	{"flower --lang z", "flower --lang zh"},
	{"flower -w su", "flower -w sub/"},
	{"flower once --permission acc", "flower once --permission acceptEdits"},
	{"flower --rehearse mod", "flower --rehearse model.lua"},
	{"flower hel", "flower hello.lua"},
	{"flower check hel", "flower check hello.lua"},
	{"flower -w sub check hel", "flower -w sub check hello.lua"},
	{"flower replay sub/", "flower replay sub/two.lua"},
	{"flower two", `flower two\ words.lua`},
	{"flower hello.lua no", "flower hello.lua notes.txt"},
	{"flower run hello.lua no", "flower run hello.lua notes.txt"},
	{"flower runs la", "flower runs last"},
	{"flower --harness=cl", "flower --harness=claude"},
	{"flower --workspace=su", "flower --workspace=sub/"},
	{"flower sessions restore no", "flower sessions restore notes.txt"},
}

// needShell is a shell that a test needs: without it the test is skipped, but where all
// tests must run.
func needShell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("%s is not installed, and its completion cannot be tested: apt-get install %s", name, name)
	default:
		t.Skipf("%s is not installed: apt-get install %s", name, name)
	}
	return ""
}

// completionFolder has something to complete, and the script of a shell.
func completionFolder(t *testing.T, shell string) string {
	t.Helper()
	dir := t.TempDir()
	script, err := exec.Command(flowerCommand(t), "completion", shell).Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"hello.lua": "", "model.lua": "", "two words.lua": "", "notes.txt": "", "sub/two.lua": "", "script": string(script),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// typeAndTab types each line on a terminal where a shell runs and presses Tab. The
// shell writes its line to the file seen when it is sent Ctrl-X S.
func typeAndTab(t *testing.T, dir, command string) {
	t.Helper()
	x := onTerminal(t, dir, 80, 24, command)
	x.until("ready")
	seen := func() []string {
		raw, _ := os.ReadFile(filepath.Join(dir, "seen")) // not there yet
		return strings.Split(string(raw), "\n")
	}
	for i, c := range completions {
		x.types(c.typed + "\t\x18s\x15")
		for end := time.Now().Add(patience); len(seen()) < i+2; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q: nothing comes:\n%s", c.typed, x.screen())
			}
		}
		if got := strings.TrimRight(seen()[i], " "); got != c.want {
			t.Errorf("%q is completed to %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestCompletion_in_bash(t *testing.T) {
	dir := completionFolder(t, "bash")
	rc := `source ./script; bind -x '"\C-xs": printf "%s\n" "$READLINE_LINE" >>seen'; bind 'set enable-bracketed-paste off'; PS1='ready '`
	if err := os.WriteFile(filepath.Join(dir, "rc"), []byte(rc), 0o644); err != nil {
		t.Fatal(err)
	}
	typeAndTab(t, dir, "exec "+needShell(t, "bash")+" --noprofile --rcfile rc -i")
}

func TestCompletion_in_zsh(t *testing.T) {
	dir := completionFolder(t, "zsh")
	rc := `autoload -Uz compinit; compinit -u -D; source ./script
snap() { print -r -- "$BUFFER" >>seen }; zle -N snap; bindkey -e; bindkey '^Xs' snap; PS1='ready '`
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(rc), 0o644); err != nil {
		t.Fatal(err)
	}
	typeAndTab(t, dir, "ZDOTDIR=. exec "+needShell(t, "zsh")+" -d -i")
}

// TestCompletion_in_fish asks fish itself what it would offer.
func TestCompletion_in_fish(t *testing.T) {
	dir := completionFolder(t, "fish")
	fish := needShell(t, "fish")
	for _, c := range completions {
		cmd := exec.Command(fish, "--no-config", "-c", "source script; complete -C $argv[1]", c.typed)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		begin := c.typed[:strings.LastIndex(c.typed, " ")+1]
		want := strings.ReplaceAll(strings.TrimPrefix(c.want, begin), `\`, "")
		var offered []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, strings.ReplaceAll(word, `\`, ""))
		}
		if len(offered) != 1 || offered[0] != want {
			t.Errorf("%q: fish offers %q, want %q alone", c.typed, offered, want)
		}
	}
}
