package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// manifest reads plugin.json.
func (l *loader) manifest() {
	text, ok := l.read(manifestFile)
	if !ok {
		if !validName.MatchString(l.p.Name) {
			l.wrong(".", 0, "a plugin is called as its folder, and %q is no name; give it one in %s", l.p.Name, manifestFile)
		}
		return
	}
	fields := map[string]json.RawMessage{}
	if !l.decode(manifestFile, text, &fields) {
		return
	}
	for field, to := range map[string]*string{"name": &l.p.Name, "version": &l.p.Version, "description": &l.p.Description} {
		if raw := fields[field]; raw != nil && json.Unmarshal(raw, to) != nil {
			l.wrong(manifestFile, lineOf(text, field), "%s must be a text", field)
		}
	}
	if !validName.MatchString(l.p.Name) {
		l.wrong(manifestFile, lineOf(text, "name"), "name is %q; it has letters, digits, - _ and ., 64 at most", l.p.Name)
	}
	var left []string
	for _, field := range []string{"agents", "commands", "hooks", "lspServers", "mcpServers", "monitors", "outputStyles", "skills"} {
		if fields[field] != nil {
			left = append(left, field)
		}
	}
	if len(left) > 0 {
		l.note("%s: %s is not used", manifestFile, strings.Join(left, ", "))
	}
}

// decode reads JSON and says in which line it is wrong.
func (l *loader) decode(file, text string, to any) bool {
	d := json.NewDecoder(strings.NewReader(text))
	err := d.Decode(to)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			l.wrong(file, lineAt(text, d.InputOffset()), "there is something behind the JSON")
			return false
		}
		return true
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		l.wrong(file, lineAt(text, syntax.Offset), "it is no JSON: %v", err)
	case errors.As(err, &kind):
		l.wrong(file, lineAt(text, kind.Offset), "it must be an object, is a %s", kind.Value)
	default:
		l.wrong(file, lineAt(text, int64(len(text))), "it is no JSON: %v", err)
	}
	return false
}

func lineAt(text string, offset int64) int {
	return 1 + strings.Count(text[:min(max(int(offset)-1, 0), len(text))], "\n")
}

// lineOf is the line in which a key of an object is first written.
func lineOf(text, key string) int {
	at := strings.Index(text, `"`+key+`"`)
	if at < 0 {
		return 1
	}
	return lineAt(text, int64(at)+1)
}

// servers reads .mcp.json: servers by name, or an object that has them under
// mcpServers.
func (l *loader) servers() {
	text, ok := l.read(serversFile)
	if !ok {
		return
	}
	list := map[string]json.RawMessage{}
	if !l.decode(serversFile, text, &list) {
		return
	}
	if inner, wrapped := list["mcpServers"]; wrapped {
		list = map[string]json.RawMessage{}
		if json.Unmarshal(inner, &list) != nil {
			l.wrong(serversFile, lineOf(text, "mcpServers"), "mcpServers must be an object of servers by name")
			return
		}
	}
	if len(list) > MaxServers {
		l.wrong(serversFile, 0, "it has more than %d servers", MaxServers)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if s, ok := l.server(name, list[name], lineOf(text, name)); ok {
			l.p.Servers = append(l.p.Servers, s)
		}
	}
}

// serverFields are what a server of .mcp.json may have.
type serverFields struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

func (l *loader) server(name string, raw json.RawMessage, line int) (s Server, ok bool) {
	var f serverFields
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&f)
	if err != nil && strings.Contains(err.Error(), "unknown field") {
		l.note("%s: server %s: %s is not used", serversFile, name, strings.TrimPrefix(err.Error(), "json: unknown field "))
		f = serverFields{}
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		l.wrong(serversFile, line, "server %s: %s", name, strings.TrimPrefix(err.Error(), "json: "))
		return s, false
	}
	s = Server{Name: name, Command: l.placed(f.Command), URL: l.placed(f.URL), Headers: l.placedMap(f.Headers)}
	for _, arg := range f.Args {
		s.Args = append(s.Args, l.placed(arg))
	}
	if f.Command != "" {
		s.Env = l.placedMap(f.Env)
		s.Env[Root] = l.p.Dir
	}
	if s.Problem = problem(f, s); s.Problem != "" {
		l.note("%s: server %s cannot be used: %s", serversFile, name, s.Problem)
	}
	return s, true
}

func (l *loader) placedMap(in map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range in {
		out[key] = l.placed(value)
	}
	return out
}

// variable is what another program would fill in from its environment.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// problem is why a server cannot be used. Variables of the environment are not filled
// in: a file of a repository must not send them anywhere.
func problem(f serverFields, s Server) string {
	switch {
	case !slices.Contains([]string{"", "stdio", "http", "streamable-http"}, f.Type):
		return fmt.Sprintf("type is %q; there are stdio and http", f.Type)
	case s.Command == "" && s.URL == "":
		return "it has neither command nor url"
	case s.Command != "" && s.URL != "":
		return "it has a command and a url"
	}
	texts := append([]string{s.Command, s.URL}, s.Args...)
	texts = slices.Concat(texts, slices.Sorted(maps.Values(s.Env)), slices.Sorted(maps.Values(s.Headers)))
	for _, text := range texts {
		if v := variable.FindString(text); v != "" {
			return fmt.Sprintf("only ${%s} is filled in, and it has %s; name the server in the script's mcp_servers", Root, v)
		}
	}
	return ""
}
