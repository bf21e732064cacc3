package tool

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// environ is the environment of a command: ours, what the agent's spec adds, and
// what keeps programs from waiting for a terminal; without secrets.
func (s *Set) environ(mark, dir string) []string {
	env := map[string]string{
		"TERM":                "dumb",
		"PAGER":               "cat",
		"GIT_PAGER":           "cat",
		"GIT_TERMINAL_PROMPT": "0",
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if _, ours := env[name]; !ours && name != markVariable && !likeKey(name) {
			env[name] = value
		}
	}
	maps.Copy(env, s.o.Env)
	env["PWD"] = dir
	maps.DeleteFunc(env, func(name, _ string) bool { return s.secret(name) })
	// The mark comes first, where it is found without reading everything.
	out := []string{markVariable + "=" + mark}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// secret names are hidden from commands whoever set them: they are the
// harness's own.
func (s *Set) secret(name string) bool {
	return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || name == "CLAUDECODE" ||
		slices.Contains(s.o.SecretEnv, name)
}

// likeKey names look like the key of a model's provider, or of a collector of traces. They are not inherited; a spec
// that wants a command to have one names it in its env.
func likeKey(name string) bool {
	for _, end := range []string{"_API_KEY", "_APIKEY", "_AUTH_TOKEN", "_BEARER_TOKEN", "_BEARER_TOKEN_BEDROCK", "_OAUTH_TOKEN"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.HasPrefix(name, "OTEL_") && strings.HasSuffix(name, "_HEADERS")
}

// nextMark is the mark of a new command. One that we were given by an engine
// above us stays in it, so that it finds what we started too.
func (s *Set) nextMark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastMark++
	return fmt.Sprintf("%s%s/%d;", lastChars(os.Getenv(markVariable), 500), s.mark, s.lastMark)
}
