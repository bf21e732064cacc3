package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowerlua/flower/settings"
)

// place is a home, a workspace and an environment for one test.
type place struct {
	t    *testing.T
	home string
	work string
	env  map[string]string
}

func newPlace(t *testing.T) *place {
	return &place{t: t, home: t.TempDir(), work: t.TempDir(), env: map[string]string{}}
}

func (p *place) write(path, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) load() *settings.Settings {
	p.t.Helper()
	s, err := settings.Load(settings.Options{Workspace: p.work, Home: p.home, Getenv: func(k string) string { return p.env[k] }})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func TestLookup_takes_the_first_source_in_order(t *testing.T) {
	p := newPlace(t)
	config := filepath.Join(p.home, ".config", "flower", ".env")
	named := filepath.Join(p.home, "named.env")
	p.env["FLOWER_ENV"] = named
	p.write(named, "")
	// From the last to the first: each that is added wins over those before.
	steps := []struct{ origin, value string }{
		{filepath.Join(p.home, ".claude", "settings.local.json"), `{"env": {"ANTHROPIC_MODEL": "%"}}`},
		{filepath.Join(p.home, ".claude", "settings.json"), `{"env": {"ANTHROPIC_MODEL": "%"}, "other": 1}`},
		{config, "ANTHROPIC_MODEL=%"},
		{filepath.Join(p.work, ".env"), "export ANTHROPIC_MODEL=% # ours"},
		{named, "ANTHROPIC_MODEL='%'"},
	}
	for i, step := range steps {
		name := string(rune('a' + i))
		p.write(step.origin, strings.ReplaceAll(step.value, "%", name))
		if got := p.load().Lookup(settings.Model); got.Text != name || got.Origin != step.origin {
			t.Errorf("got %+v, want %s from %s", got, name, step.origin)
		}
	}
	p.env["ANTHROPIC_MODEL"] = "env"
	if got := p.load().Lookup(settings.Model); got.Text != "env" || got.Origin != "environment" {
		t.Errorf("got %+v, want the environment's", got)
	}
}

func TestLookup_an_empty_value_does_not_hide_a_later_one(t *testing.T) {
	p := newPlace(t)
	p.env["ANTHROPIC_API_KEY"] = ""
	p.write(filepath.Join(p.work, ".env"), "ANTHROPIC_API_KEY=\n")
	p.write(filepath.Join(p.home, ".config", "flower", ".env"), "ANTHROPIC_API_KEY=test-key")
	c, err := p.load().Credential()
	if err != nil || c.APIKey != "test-key" {
		t.Errorf("credential = %+v, %v", c, err)
	}
}

func TestCredential_a_repository_cannot_send_a_key_away(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "ANTHROPIC_BASE_URL=https://elsewhere.example")
	p.write(filepath.Join(p.home, ".config", "flower", ".env"), "ANTHROPIC_API_KEY=test-key")
	if c, err := p.load().Credential(); err == nil {
		t.Errorf("the key would go to %s", c.BaseURL)
	} else if strings.Contains(err.Error(), "test-key") {
		t.Errorf("the error holds the key: %v", err)
	}
	// A key that stands before the address is used, without it.
	p.env["ANTHROPIC_API_KEY"] = "test-key-env"
	c, err := p.load().Credential()
	if err != nil || c.BaseURL != "" || c.APIKey != "test-key-env" || c.Ignored != filepath.Join(p.work, ".env") {
		t.Errorf("credential = %+v, %v", c, err)
	}
}

func TestCredential_takes_address_and_key_from_one_place(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "ANTHROPIC_BASE_URL=https://gateway.example\nANTHROPIC_AUTH_TOKEN=test-token")
	c, err := p.load().Credential()
	if err != nil || c.BaseURL != "https://gateway.example" || c.AuthToken != "test-token" || c.Ignored != "" {
		t.Errorf("credential = %+v, %v", c, err)
	}
}

func TestCredential_missing_names_every_place(t *testing.T) {
	p := newPlace(t)
	_, err := p.load().Credential()
	if !errors.Is(err, settings.ErrNoCredential) {
		t.Fatalf("err = %v", err)
	}
	for _, part := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "environment", filepath.Join(p.work, ".env"),
		filepath.Join(p.home, ".config", "flower", ".env"), "settings.json", "settings.local.json"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s:\n%v", part, err)
		}
	}
}

func TestLoad_a_broken_file_is_reported_and_does_not_leak(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.work, ".env")
	p.write(path, "ANTHROPIC_API_KEY=\"test-key-unclosed\nMODEL x y")
	s := p.load()
	var found bool
	for _, src := range s.Sources() {
		if src.Name == path && src.Problem != nil {
			found = true
			if strings.Contains(src.Problem.Error(), "test-key") {
				t.Errorf("the problem holds the secret: %v", src.Problem)
			}
		}
	}
	if !found {
		t.Error("nothing said that the file is broken")
	}
	if _, err := s.Credential(); !strings.Contains(err.Error(), "cannot be parsed") {
		t.Errorf("err = %v", err)
	}
}

func TestLoad_FLOWER_ENV_must_exist(t *testing.T) {
	_, err := settings.Load(settings.Options{Home: t.TempDir(), Getenv: func(k string) string {
		if k == "FLOWER_ENV" {
			return "/nowhere/at/all.env"
		}
		return ""
	}})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/at/all.env") {
		t.Errorf("err = %v", err)
	}
}

func TestLoad_reads_no_other_keys(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "DATABASE_PASSWORD=x\nANTHROPIC_MODEL=m")
	if got := p.load().Get("DATABASE_PASSWORD"); got != "" {
		t.Errorf("a foreign key was read: %q", got)
	}
}

func TestShown_hides_secrets(t *testing.T) {
	for _, key := range []string{settings.APIKey, settings.AuthToken} {
		if got := (settings.Value{Key: key, Text: "test-key-0123456789"}).Shown(); strings.Contains(got, "0123") {
			t.Errorf("%s is shown as %q", key, got)
		}
	}
	if got := (settings.Value{Key: settings.BaseURL, Text: "https://user:test-password@host/x"}).Shown(); strings.Contains(got, "test-password") || !strings.Contains(got, "host/x") {
		t.Errorf("the address is shown as %q", got)
	}
	if got := (settings.Value{Key: settings.Model, Text: "m"}).Shown(); got != "m" {
		t.Errorf("model is shown as %q", got)
	}
}

func TestConfigFile_follows_XDG(t *testing.T) {
	got := settings.ConfigFile(settings.Options{Home: "/h", Getenv: func(k string) string {
		if k == "XDG_CONFIG_HOME" {
			return "/x"
		}
		return ""
	}})
	if got != "/x/flower/.env" {
		t.Errorf("got %s", got)
	}
}

func TestAliases(t *testing.T) {
	p := newPlace(t)
	p.env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] = "small"
	if got := p.load().Aliases(); len(got) != 1 || got["haiku"] != "small" {
		t.Errorf("aliases = %v", got)
	}
}

func TestLoad_a_problem_names_file_line_and_key_and_shows_no_value(t *testing.T) {
	const env, claude = ".env", "settings.json"
	cases := []struct{ file, content, want string }{
		{env, "# mine\n\nANTHROPIC_API_KEY test-secret\n", "line 3 cannot be parsed: it is not NAME=VALUE"},
		{env, "A=1\nANTHROPIC_API_KEY=\"test-secret\nB=2", "line 2 cannot be parsed: the value of ANTHROPIC_API_KEY begins with a quote that nothing closes"},
		{env, "A='one\ntwo'\ntest-secret", "line 3 cannot be parsed: it is not NAME=VALUE"},
		{claude, "{\n  \"env\": {\"ANTHROPIC_API_KEY\": \"test-secret\"\n", "line 3 cannot be parsed: it is no JSON"},
		{claude, "{\n  \"env\": \"test-secret\"}", "line 2 cannot be parsed: env must be an object"},
		{claude, "{\"env\": {\n\"ANTHROPIC_API_KEY\": [\"test-secret\"]}}", "line 2 cannot be parsed: env.ANTHROPIC_API_KEY must be a string"},
	}
	for _, c := range cases {
		p := newPlace(t)
		path := filepath.Join(p.work, ".env")
		if c.file == claude {
			path = filepath.Join(p.home, ".claude", claude)
		}
		p.write(path, c.content)
		var got error
		for _, src := range p.load().Sources() {
			if src.Name == path {
				got = src.Problem
			}
		}
		if got == nil || got.Error() != path+", "+c.want {
			t.Errorf("%q: got %v, want %s", c.content, got, c.want)
		}
	}
}

func TestLookup_names_the_line(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "\ufeff# mine\nexport ANTHROPIC_MODEL=m\n")
	p.write(filepath.Join(p.home, ".claude", "settings.json"), "{\"env\":\n{\"CLAUDE_CODE_EFFORT_LEVEL\": \"low\", \"ANTHROPIC_API_KEY\": null}}")
	s := p.load()
	if got := s.Lookup(settings.Model).Place(); got != filepath.Join(p.work, ".env")+", line 2" {
		t.Errorf("model from %s", got)
	}
	if got := s.Lookup(settings.Effort).Place(); got != filepath.Join(p.home, ".claude", "settings.json")+", line 2" {
		t.Errorf("effort from %s", got)
	}
	if got := s.Lookup(settings.APIKey); got.Text != "" {
		t.Errorf("null is the key %q", got.Text)
	}
}

func TestCheck_names_key_file_and_line(t *testing.T) {
	cases := []struct{ line, want string }{
		{"ANTHROPIC_BASE_URL=gateway.example", "ANTHROPIC_BASE_URL of %, line 2 is no address: give one like https://gateway.example"},
		{"ANTHROPIC_BASE_URL=https://gateway.example/v1/", "ANTHROPIC_BASE_URL of %, line 2 ends in /v1, which is added by itself: leave it out"},
		{"ANTHROPIC_API_KEY='test key'", "ANTHROPIC_API_KEY of %, line 2 holds spaces or line ends: is something else in it?"},
		{"CLAUDE_CODE_EFFORT_LEVEL=hgih", `CLAUDE_CODE_EFFORT_LEVEL of %, line 2 is "hgih"; it is one of low, medium, high, xhigh, max, none, or a number of tokens — did you mean "high"?`},
		{"CLAUDE_CODE_EFFORT_LEVEL=2048", ""},
		{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/path", ""},
	}
	for _, c := range cases {
		p := newPlace(t)
		path := filepath.Join(p.work, ".env")
		p.write(path, "\n"+c.line+"\n")
		want := strings.ReplaceAll(c.want, "%", path)
		got := ""
		for _, err := range p.load().Check() {
			got += err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", c.line, got, want)
		}
	}
}

func TestCredential_one_that_cannot_be_sent_is_an_error(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "ANTHROPIC_API_KEY=test-key\nANTHROPIC_BASE_URL=gateway")
	if _, err := p.load().Credential(); err == nil || !strings.Contains(err.Error(), "line 2 is no address") {
		t.Errorf("err = %v", err)
	}
}

func TestSources_tell_of_misspelt_keys(t *testing.T) {
	p := newPlace(t)
	p.write(filepath.Join(p.work, ".env"), "DATABASE=1\nANTROPIC_API_KEY=test-key\n")
	s, err := settings.Load(settings.Options{Workspace: p.work, Home: p.home, Getenv: func(string) string { return "" }, Environ: []string{"PATH", "ANTHROPIC_MODELS"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Credential()
	for _, part := range []string{"line 2: ANTROPIC_API_KEY is not read — did you mean ANTHROPIC_API_KEY?", "ANTHROPIC_MODELS is not read — did you mean ANTHROPIC_MODEL?"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in\n%v", part, err)
		}
	}
}
