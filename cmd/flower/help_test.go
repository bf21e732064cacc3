package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// help is what flower prints with --help behind words.
func help(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.Command(flowerCommand(t), append(words, "--help")...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "COLUMNS=80"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("flower %v --help: %v", words, err)
	}
	return string(out)
}

func TestHelp_of_every_command_fits_and_shows_its_own_flags_first(t *testing.T) {
	parser, err := newParser(&cli{}, &writerPair{os.Stdout.Write}, &writerPair{os.Stdout.Write})
	if err != nil {
		t.Fatal(err)
	}
	check := func(node *kong.Node) {
		text := help(t, strings.Fields(fullName(node))[1:]...)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 { // with its end
				t.Errorf("%s --help: this line is too long: %s", fullName(node), line)
			}
		}
		own, common, _ := strings.Cut(text, "Common flags:")
		for _, f := range node.Flags {
			if node.Parent != nil && !strings.Contains(own, "--"+f.Name) {
				t.Errorf("%s --help shows --%s not first:\n%s", fullName(node), f.Name, text)
			}
		}
		top := node
		for top.Parent != nil && top.Parent.Parent != nil {
			top = top.Parent
		}
		for _, f := range parser.Model.Flags {
			if shown := strings.Contains(common, "--"+f.Name+" ") || strings.Contains(common, "--"+f.Name+"="); node.Parent != nil && f.Name != "help" && shown != means(top.Name, f.Name) {
				t.Errorf("%s --help shows --%s: %v", fullName(node), f.Name, shown)
			}
		}
	}
	check(parser.Model.Node)
	for _, command := range parser.Model.Children {
		check(command)
		for _, sub := range command.Children {
			check(sub)
		}
	}
}

// TestHelp_is_enough_to_begin: the script in it is complete and runs.
func TestHelp_is_enough_to_begin(t *testing.T) {
	_, rest, _ := strings.Cut(help(t), "A first script, first.lua:\n")
	script, _, _ := strings.Cut(rest, "\nThen ")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"first.lua": script,
		"model.lua": `return function(turn)
			if #turn.messages[#turn.messages].results > 0 then return "done" end
			return { tool = "Write", input = { file_path = "haiku.txt", content = "a bee" } }
		end`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"check", "first.lua"}, {"--rehearse", "model.lua", "first.lua"}} {
		if code, said := runPlain(t, dir, flowerCommand(t), words); code != 0 {
			t.Errorf("flower %v: exit code %d:\n%s\nthe script:\n%s", words, code, said, script)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "haiku.txt")); err != nil {
		t.Error(err)
	}
}
