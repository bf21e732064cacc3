// Package settings finds where each setting and credential comes from.
//
// A Source is one place: the process environment, a .env file, a settings file of
// Claude Code. For each key the first source with a value that is not empty wins,
// in this order: environment; the file named by FLOWER_ENV; .env in the
// workspace; flower/.env in the configuration folder; the env block of
// ~/.claude/settings.json, then settings.local.json. A key that sends requests
// somewhere (ANTHROPIC_BASE_URL) and the credential that goes there come from one
// source, or not at all: a repository must not be able to send a person's key
// away.
package settings

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// The keys that are read. Nothing else is taken from any source.
const (
	APIKey        = "ANTHROPIC_API_KEY"    // sent as x-api-key
	AuthToken     = "ANTHROPIC_AUTH_TOKEN" // sent as bearer
	BaseURL       = "ANTHROPIC_BASE_URL"   // without /v1
	Model         = "ANTHROPIC_MODEL"
	OpusModel     = "ANTHROPIC_DEFAULT_OPUS_MODEL"
	SonnetModel   = "ANTHROPIC_DEFAULT_SONNET_MODEL"
	HaikuModel    = "ANTHROPIC_DEFAULT_HAIKU_MODEL"
	SubagentModel = "CLAUDE_CODE_SUBAGENT_MODEL"
	Effort        = "CLAUDE_CODE_EFFORT_LEVEL"
)

// Keys are all keys, in the order in which they are shown.
var Keys = []string{APIKey, AuthToken, BaseURL, Model, OpusModel, SonnetModel, HaikuModel, SubagentModel, Effort}

// ErrNoCredential is returned by Credential when no source has a key or a token.
var ErrNoCredential = errors.New("no API key")

// Options say where to look. Zero fields mean the process's own.
type Options struct {
	Workspace string              // whose .env is read; empty: none
	Getenv    func(string) string // nil means os.Getenv
	Home      string              // empty means os.UserHomeDir
	// Environ are the names that Getenv knows, to find misspelt ones; nil means those
	// of os.Environ, and none where Getenv is not nil.
	Environ []string
}

// Source is one place that was looked in.
type Source struct {
	Name  string // "environment", or the path
	Found bool   // it is there
	// Problem says why a file that is there could not be used; nil otherwise.
	Problem error
	// Misspelt are names it has that nearly are keys, which nobody reads.
	Misspelt []Misspelt

	values map[string]string
	lines  map[string]int
}

// Misspelt is a name that nearly is a key.
type Misspelt struct {
	Name, Key string
	Line      int // 0 in the environment
}

// HasSecret: a key or a token is in it.
func (s Source) HasSecret() bool { return s.values[APIKey] != "" || s.values[AuthToken] != "" }

// Value is a setting with its origin.
type Value struct {
	Key    string
	Text   string // as it is; Shown hides secrets
	Origin string // the Name of its Source; empty when no source has it
	Line   int    // in the file; 0 where it is not known
}

// Place is the origin with its line.
func (v Value) Place() string { return place(v.Origin, v.Line) }

func place(origin string, line int) string {
	if line == 0 {
		return origin
	}
	return fmt.Sprintf("%s, line %d", origin, line)
}

// Shown is the value as it may be printed: of secrets only that and how long they
// are.
func (v Value) Shown() string {
	if v.Key == BaseURL {
		if u, err := url.Parse(v.Text); err == nil {
			return u.Redacted() // an address may hold a password
		}
	}
	if v.Text == "" || v.Key != APIKey && v.Key != AuthToken {
		return v.Text
	}
	return fmt.Sprintf("(secret, %d characters)", len(v.Text))
}

// Settings are the sources, read once. They are immutable.
type Settings struct {
	sources []Source
}

// Load reads all sources. A file that is not there is no error, except the one
// FLOWER_ENV names; a file that cannot be read is a Problem of its Source.
func Load(o Options) (*Settings, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	home := o.Home
	if home == "" {
		home, _ = os.UserHomeDir() // without a home its files are not there
	}
	environment := Source{Name: "environment", Found: true, values: map[string]string{}}
	for _, key := range Keys {
		environment.values[key] = strings.TrimSpace(getenv(key))
	}
	if o.Environ == nil && o.Getenv == nil {
		o.Environ = environNames()
	}
	for _, name := range o.Environ {
		environment.misspelt(name, 0)
	}
	s := &Settings{sources: []Source{environment}}
	if path := getenv("FLOWER_ENV"); path != "" {
		named := envFile(path)
		if !named.Found {
			return nil, fmt.Errorf("FLOWER_ENV names %s, which is not there", path)
		}
		s.sources = append(s.sources, named)
	}
	if o.Workspace != "" {
		s.sources = append(s.sources, envFile(filepath.Join(o.Workspace, ".env")))
	}
	if config := configFile(getenv, home); config != "" {
		s.sources = append(s.sources, envFile(config))
	}
	if home != "" {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			s.sources = append(s.sources, claudeFile(filepath.Join(home, ".claude", name)))
		}
	}
	return s, nil
}

// ConfigFile is where a person's own settings are written.
func ConfigFile(o Options) string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	home := o.Home
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	return configFile(getenv, home)
}

func configFile(getenv func(string) string, home string) string {
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "flower", ".env")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config", "flower", ".env")
}

// Sources are the places looked in, in order. The caller owns the slice.
func (s *Settings) Sources() []Source { return append([]Source(nil), s.sources...) }

// Lookup is a key's value with its origin. For the base URL and the credentials
// that is what each source says; Credential decides which of them are used.
func (s *Settings) Lookup(key string) Value {
	for _, src := range s.sources {
		if text := src.values[key]; text != "" {
			return Value{Key: key, Text: text, Origin: src.Name, Line: src.lines[key]}
		}
	}
	return Value{Key: key}
}

// Get is the text of Lookup.
func (s *Settings) Get(key string) string { return s.Lookup(key).Text }

// Aliases are the model names behind opus, sonnet and haiku, where a source
// names them.
func (s *Settings) Aliases() map[string]string {
	aliases := map[string]string{}
	for alias, key := range map[string]string{"opus": OpusModel, "sonnet": SonnetModel, "haiku": HaikuModel} {
		if name := s.Get(key); name != "" {
			aliases[alias] = name
		}
	}
	return aliases
}

// Credential is how requests are sent, all from one source.
type Credential struct {
	APIKey    string
	AuthToken string
	BaseURL   string // empty: the provider's own
	Origin    string
	// Ignored is the origin of a base URL that is not used, since the credential
	// comes from a place that goes before it; empty otherwise.
	Ignored string
}

// Credential finds the first source with a key or a token. ErrNoCredential, with
// every place named, when there is none; another error when a base URL stands
// before it in another source, since it is not clear where the key may go, or when
// one of them cannot be sent.
func (s *Settings) Credential() (Credential, error) {
	baseURL := s.Lookup(BaseURL)
	for i, src := range s.sources {
		key, token := src.values[APIKey], src.values[AuthToken]
		if key == "" && token == "" {
			continue
		}
		c := Credential{APIKey: key, AuthToken: token, BaseURL: src.values[BaseURL], Origin: src.Name}
		for _, name := range []string{APIKey, AuthToken, BaseURL} {
			if err := check(Value{Key: name, Text: src.values[name], Origin: src.Name, Line: src.lines[name]}); err != nil {
				return Credential{}, err
			}
		}
		if baseURL.Origin == "" || baseURL.Origin == src.Name {
			return c, nil
		}
		if s.before(baseURL.Origin, i) {
			return Credential{}, fmt.Errorf("%s comes from %s and the key from %s: a key is only sent to an address from the same place; put both into one of them",
				BaseURL, baseURL.Place(), place(src.Name, max(src.lines[APIKey], src.lines[AuthToken])))
		}
		c.Ignored = baseURL.Origin
		return c, nil
	}
	return Credential{}, s.noCredential()
}

// before: the source called name stands before index i.
func (s *Settings) before(name string, i int) bool {
	for _, src := range s.sources[:i] {
		if src.Name == name {
			return true
		}
	}
	return false
}

func (s *Settings) noCredential() error {
	var b strings.Builder
	for _, src := range s.sources {
		state := "not there"
		switch {
		case src.Problem != nil:
			state = src.Problem.Error()
		case src.Found:
			state = "has neither"
		}
		if src.Problem == nil {
			fmt.Fprintf(&b, "\n  %s: %s", src.Name, state)
		} else {
			fmt.Fprintf(&b, "\n  %s", state)
		}
		for _, m := range src.Misspelt {
			fmt.Fprintf(&b, "\n    %s", m)
		}
	}
	return fmt.Errorf("%w: set %s or %s; looked in%s", ErrNoCredential, APIKey, AuthToken, b.String())
}
