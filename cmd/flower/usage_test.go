package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is named on the command line and is not there, of another kind, or no value
// at all is wrong usage: 2. What is there and does not work is 1. Each line is the
// code, the words, and what the message must say; ” is an empty word, and words in
// “ ” are one.
const exitCodes = `
0 | --rehearse say.lua hello.lua |

2 | '' | what is to be made is empty
2 | “ ” | what is to be made is empty
2 | go '' | what is to be made is empty
2 | -w empty --rehearse say.lua | flower: say what is to be made, for example
2 | once | flower once needs <prompt>
2 | once '' | the prompt is empty
2 | run | flower run needs <script>
2 | run nope.lua | there is no script nope.lua
2 | helo.lua | there is no script helo.lua — did you mean "hello.lua"?
2 | sub/helo.lua | there is no script sub/helo.lua — did you mean "sub/hello.lua"?
2 | run sub | sub is a folder, not a script
2 | sub.lua | sub.lua is a folder, not a script
1 | --rehearse say.lua broken.lua | broken.lua:1: syntax error
2 | --rehearse say.lua called.lua | flower: name a file

2 | sub | sub is a folder, not a script: flower -w sub works in it; to have it made: flower go sub
2 | chek | "chek" is neither a command nor a script — did you mean "check"? To have it made: flower go chek
2 | list | did you mean "sessions list"?
2 | list sessions | "list" is no command of its own — did you mean "sessions list"? To have it made: flower go list sessions
2 | list runs | did you mean "runs"?
2 | hello | "hello" is neither a command nor a script — did you mean "hello.lua"? To have it made: flower go hello
2 | sub/hello | did you mean "sub/hello.lua"?
2 | --rehearse say.lua -- hello.lua | what stands behind -- is a text, and hello.lua is a script: flower hello.lua. To have it made: flower go -- hello.lua
1 | go -- hello.lua | no API key
1 | -- nope.lua | no API key
1 | hello again | no API key
1 | list sessions by age | no API key
2 | hello.lua --rehearse say.lua | flower --rehearse say.lua hello.lua. To give it to the script (with the --): flower hello.lua -- --rehearse say.lua
2 | run hello.lua x --playback=rec | flower --playback rec hello.lua
2 | hello.lua --rehearse | flower --rehearse hello.lua
1 | hello.lua -- --rehearse say.lua | no API key
1 | hello.lua --fresh | flower: note: --fresh stands behind the script and is given to it; flower's own flags come before the script
0 | --rehearse say.lua hello.lua --rehearse say.lua -v | note: --rehearse, -v stand behind the script and are given to it
2 | --timeout 0 hello.lua | flower has no flag --timeout; it is one of flower go, flower test
2 | sesions list | "sesions" is not a command — did you mean "sessions"? To have it made: flower go sesions list
2 | sesions lsit | did you mean "sessions"?
2 | sesions --limit 3 | did you mean "sessions"?
2 | chek hello.lua | did you mean "check"?
2 | -w sub chek notes.txt | did you mean "check"?
2 | replai --watch fix.lua | did you mean "replay"? To have it made: flower go 'replai --watch fix.lua'
2 | runz 20261130-1 | did you mean "runs"?
2 | runz last | did you mean "runs"?
2 | docter command ls | did you mean "doctor"?
2 | completoin zsh | did you mean "completion"?
1 | tests for the parser | no API key
1 | runes and glyphs | no API key
1 | frobnicate | no API key
1 | “chek hello.lua” | no API key
1 | -- chek hello.lua | no API key

2 | -w notes.txt hello.lua | is not a folder
2 | -w '' hello.lua | -w is empty
2 | -w empti --rehearse say.lua hello.lua | there is no workspace empti — did you mean "empty"? To work in a new one: mkdir -p empti
0 | -w empty2 --rehearse say.lua hello.lua | made the workspace empty2
0 | -w su --rehearse say.lua hello.lua | made the workspace su
0 | -w made --rehearse say.lua hello.lua | made the workspace made
0 | -w empty/made --rehearse say.lua hello.lua | made the workspace empty/made
2 | -r notes.txt --rehearse say.lua hello.lua | run directory notes.txt is not a folder (-r)
2 | --harness cloude hello.lua | --harness is "cloude"; it is native or claude — did you mean "claude"?
2 | --lang xx hello.lua | --lang is "xx"; it is en or zh
2 | --model '' hello.lua | --model is empty
2 | --rehearse sai.lua hello.lua | --rehearse: there is no file sai.lua — did you mean "say.lua"?
2 | --rehearse sub hello.lua | --rehearse: sub is a folder, not a file
1 | --rehearse broken.lua hello.lua | broken.lua:1: syntax error
2 | --events sub --rehearse say.lua hello.lua | --events: sub is a folder
2 | --events none/e.jsonl --rehearse say.lua hello.lua | --events: there is no folder none
2 | --from nope --rehearse say.lua hello.lua | --from: no step is called "nope"
2 | --fresh --from hello --rehearse say.lua hello.lua | exclude each other
2 | --compute-limit soon hello.lua | --compute-limit is "soon"; it is a time such as 90s or 5m
2 | --compute-limit -1s hello.lua | --compute-limit is -1s; it must be more than nothing
2 | --compute-limit 0s hello.lua | it must be more than nothing
2 | --verbos hello.lua | flower has no flag --verbos — did you mean "--verbose"?
2 | --watch hello.lua | flower has no flag --watch; it is one of
2 | --model | --model needs a value
2 | --from x doctor | --from does nothing for flower doctor
2 | --fresh once x | --fresh does nothing for flower once
2 | --events e runs | --events does nothing for flower runs

2 | x --asks -1 | --asks is -1; it must not be negative
2 | x --asks many | --asks is "many"; it is a whole number
2 | x --rounds 0 | --rounds is 0; there is at least one
2 | x --rounds 1.5 | --rounds is "1.5"; it is a whole number
2 | x --timeout -1 | --timeout is -1; it is a number of seconds
2 | x --timeout nan | --timeout is NaN
2 | x --timeout soon | --timeout is "soon"; it is a number
2 | x --window -3 | --window is -3
2 | x --window wide | --window is "wide"; it is a whole number
2 | x --no-goal --judge-can-run | --judge-can-run needs a judge
2 | --rehearse say.lua x --isolate | isolate needs a git repository
2 | x --yes | flower has no flag --yes; it is one of flower sessions delete

2 | --rehearse say.lua once -t Nope x | --tools names "Nope", which is no tool
2 | --rehearse say.lua once -t Raed x | did you mean "Read"?
2 | once -t '' x | -t is empty
2 | once -p nope x | --permission is "nope"; it is default, acceptEdits, plan or bypassPermissions
2 | once -b 0 x | --budget is 0; it is an amount in dollars
2 | once -b -1 x | --budget is -1
2 | once -b much x | --budget is "much"; it is a number
2 | once --fork x | --fork needs --resume
2 | --rehearse say.lua once --resume nope x | there is no session or step "nope"

2 | check | flower check needs <script.lua>
2 | check nope.lua | there is no script nope.lua
2 | check . | . is a folder, not a script
2 | -w none check hello.lua | there is no workspace none
1 | check broken.lua | found 1 
2 | replay | flower replay needs <script.lua>
2 | replay nope.lua | there is no script nope.lua
2 | replay sub | sub is a folder, not a script
2 | replay --step nope hello.lua | --step: no step is called "nope"
2 | replay --run nope hello.lua | there is no run "nope"
1 | replay broken.lua | broken.lua:1: syntax error
1 | -r empty replay hello.lua | there are no recorded results in empty
2 | -r none replay hello.lua | there is no run directory none

2 | runs nope | there is no run "nope"
2 | runs last more | flower runs takes no "more"
2 | -r empty runs nope | there is no run "nope": nothing has run in empty
1 | -r empty runs | there are no accounts in empty
2 | -r none runs | there is no run directory none

2 | sessions lst | flower sessions has no "lst" — did you mean "list"?
2 | sessions --limit -1 | --limit is -1; 0 means all
2 | sessions --limit all | --limit is "all"; it is a whole number
2 | sessions show | flower sessions show needs <name>
2 | sessions show nope | there is no session or step "nope"
2 | sessions show hello --agent nope | has no subagents
2 | sessions show hello --json --raw | exclude each other
2 | sessions export nope | there is no session or step "nope"
2 | sessions export hello notes.txt | notes.txt is a file: name a folder
2 | sessions import nope.jsonl | import: there is no file nope.jsonl
2 | sessions import notes.txt | import takes a file <session>.jsonl, not notes.txt
2 | sessions import sub.jsonl | sub.jsonl is a folder, not a file
1 | sessions import junk.jsonl | junk.jsonl holds no transcript
2 | sessions import junk.jsonl --as a/b | "a/b" cannot be a session's id
2 | sessions fork nope | there is no session or step "nope"
2 | sessions fork hello --at 999 | has no entry 999
2 | sessions delete | flower sessions delete needs <name>
2 | sessions delete nope | there is no session or step "nope"
2 | sessions delete hello | add --yes
2 | sessions backup sub | backup: sub is a folder
2 | sessions backup none/b | backup: there is no folder none
1 | sessions backup notes.txt | notes.txt is there already
2 | -r new sessions restore nope | restore: there is no file nope
2 | -r new sessions restore sub | restore: sub is a folder
1 | -r new sessions restore notes.txt | notes.txt is no backup that sessions backup wrote
1 | sessions restore notes.txt | holds a run already
1 | -r empty sessions | there are no sessions in empty
2 | -r none sessions | there is no run directory none
2 | -r none sessions repair | there is no run directory none
2 | -w none doctor | there is no workspace none

1 | -r empty attach | no run is at work in empty
2 | -r empty attach nope | there is no run "nope": no run is at work in empty
2 | -r none attach | there is no run directory none
2 | atach 20261130-1 | did you mean "attach"?

2 | test nope.test.lua | there is no test file and no folder nope.test.lua
2 | test empty | there is no test in empty
2 | -w none test | there is no
2 | test --timeout 0s | --timeout is 0s; it must be more than nothing
2 | test --timeout long | --timeout is "long"; it is a time such as 90s or 5m
2 | tset --filter x | did you mean "test"?
1 | tests of a parser | no API key

2 | --record notes.txt --rehearse say.lua hello.lua | --record: notes.txt is not a folder
2 | --playback none hello.lua | --playback: there is no folder none
2 | --playback notes.txt hello.lua | --playback: there is no folder notes.txt
2 | --playback empty --rehearse say.lua hello.lua | exclude each other
2 | --json --events - --rehearse say.lua hello.lua | both write to standard output
2 | --json completion bash | has no --json

2 | init notes.txt | notes.txt is not a folder
2 | init a b | flower init takes no "b"
2 | setup extra | flower setup takes no "extra"
2 | doctor nope | flower doctor takes nothing, or: command "LINE"
2 | doctor command | flower doctor takes nothing, or: command "LINE"
2 | completion | flower completion needs <shell>
2 | completion tcsh | shell is "tcsh"; it is bash, zsh or fish
2 | version x | flower version takes no "x"
0 | --version |
0 | help |
0 | help sessions show |
`

func TestExitCode_of_every_flag_and_argument(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hello.lua": `return flower.workflow{ steps = { flower.step{ name = "hello", spec = flower.agent{ name = "a" }, prompt = "hi" } } }`,
		"say.lua":   `return function() return "a bee" end`, "broken.lua": "x = = 1", "called.lua": `error{ code = "usage", message = "name a file" }`, "notes.txt": "hi", "sub/hello.lua": "", "sub.lua/x": "",
		"sub.jsonl/x": "", "junk.jsonl": "junk\n", "empty/x": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := flowerCommand(t)
	for line := range strings.Lines(strings.TrimSpace(exitCodes)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		part := strings.SplitN(line, "|", 3)
		words, want := exitWords(part[1]), strings.TrimSpace(part[2])
		code, said := runPlain(t, dir, program, words)
		if wantCode := int(part[0][0] - '0'); code != wantCode {
			t.Errorf("flower %s: exit code %d, want %d:\n%s", strings.Join(words, " "), code, wantCode, said)
		}
		if !strings.Contains(said, want) {
			t.Errorf("flower %s: want %q in\n%s", strings.Join(words, " "), want, said)
		}
		if strings.Contains(said, "starter.lua:") || strings.Contains(said, "goroutine ") {
			t.Errorf("flower %s: this is not for a person:\n%s", strings.Join(words, " "), said)
		}
	}
}

// exitWords parts a line as a shell would.
func exitWords(text string) (words []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if rest, ok := strings.CutPrefix(text, "“"); ok {
			word, rest, _ := strings.Cut(rest, "”")
			words, text = append(words, word), rest
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		if word == "''" {
			word = ""
		}
		words, text = append(words, word), rest
	}
	return words
}

// runPlain runs a program with nothing on its standard input and no settings, and
// gives what it said on standard error.
func runPlain(t *testing.T, dir, program string, words []string) (code int, said string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(program, words...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}
