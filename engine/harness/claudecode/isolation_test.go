package claudecode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/harness"
)

func TestIsolation_neither_the_program_nor_its_commands_see_the_key(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", realKey)
	t.Setenv("SOME_OTHER_API_KEY", realKey)
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", realKey)
	// The environment of every process up to the program itself, and of the command.
	look := `{ for p in $$ $PPID; do tr '\0' '\n' < /proc/$p/environ; done; env; } > all.txt; echo looked`
	b := newBench(t, calls("Bash", input("command", look)), says("Done."))
	b.turn.Agent.Env = map[string]string{"WANTED_API_KEY": "given", "ANTHROPIC_BASE_URL": "http://elsewhere.example"}
	out := b.mustRun(harness.EndTurn)
	raw, err := os.ReadFile(filepath.Join(b.dir, "all.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if strings.Contains(text, realKey) || strings.Contains(text, b.server.URL()) || strings.Contains(text, "elsewhere.example") {
		t.Error("the key or the provider's address is in an environment")
	}
	for _, want := range []string{"ANTHROPIC_API_KEY=run-", "WANTED_API_KEY=given", "CLAUDE_CONFIG_DIR=" + b.config.TempDir, "DISABLE_TELEMETRY=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the environments", want)
		}
	}
	for _, e := range b.stored(out.SessionID, "") {
		if strings.Contains(string(e.Raw), realKey) {
			t.Error("the key is in the transcript")
		}
	}
	for _, x := range b.server.Log() {
		if x.Path != "/v1/messages" && x.Path != "/v1/messages/count_tokens" && x.Path != "/" {
			t.Errorf("the program asked for %s", x.Path)
		}
	}
}

func TestIsolation_settings_of_the_project_are_not_read_unless_asked_for(t *testing.T) {
	b := newBench(t)
	for name, content := range map[string]string{
		"CLAUDE.md":             "THE PROJECT'S WISDOM",
		".claude/settings.json": `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"touch ` + b.dir + `/hooked"}]}]}}`,
	} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, sources := range [][]string{nil, {"project"}} {
		b.config.SettingSources = sources
		b.server.Enqueue(says("Done."))
		b.mustRun(harness.EndTurn)
		_, err := os.Stat(filepath.Join(b.dir, "hooked"))
		if hooked, wise := err == nil, strings.Contains(said(b.last()), "WISDOM"); hooked != (sources != nil) || wise != (sources != nil) {
			t.Errorf("sources %v: the project's hook ran: %t, its CLAUDE.md was read: %t", sources, hooked, wise)
		}
	}
}
