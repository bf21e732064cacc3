package plugin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Where things are in a plugin.
const (
	manifestFile = ".claude-plugin/plugin.json"
	agentsDir    = "agents"
	skillsDir    = "skills"
	skillFile    = "SKILL.md"
	serversFile  = ".mcp.json"
)

// maxEntries is how many entries of one folder are looked at.
const maxEntries = 1000

// unused is what a plugin may hold beside, for other programs; it does nothing here.
var unused = []string{"hooks", "commands", "output-styles", "monitors", "bin", ".lsp.json", "settings.json"}

// folder is the absolute path of a folder, without links.
func folder(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("plugin %s: %w", dir, ErrNone)
	}
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", dir, err)
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return "", fmt.Errorf("plugin %s: it is no folder: %w", dir, ErrNone)
	}
	return at, nil
}

func within(outer *os.Root, dir, name string) (p Plugin, found bool, err error) {
	shown := filepath.Join(dir, name)
	info, err := outer.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, false, nil
	case err != nil:
		return p, false, fmt.Errorf("plugin %s: it cannot be used (a link must not lead out of %s): %w", shown, dir, err)
	case !info.IsDir():
		return p, false, nil
	}
	root, err := outer.OpenRoot(name)
	if err != nil {
		return p, false, fmt.Errorf("plugin %s: %w", shown, err)
	}
	defer root.Close()
	at, err := folder(shown)
	if err != nil {
		return p, false, err
	}
	p, err = load(root, shown, at)
	if err != nil {
		return p, true, err
	}
	_, none := root.Stat(manifestFile)
	return p, none == nil || len(p.Agents)+len(p.Skills)+len(p.Servers) > 0, nil
}

// loader reads one plugin and collects what is wrong.
type loader struct {
	root  *os.Root
	shown string // the folder, as messages name it
	p     Plugin
	errs  []error
}

func load(root *os.Root, shown, at string) (Plugin, error) {
	l := &loader{root: root, shown: shown, p: Plugin{Name: filepath.Base(at), Dir: at}}
	l.manifest()
	l.agents()
	l.skills()
	l.servers()
	var held []string
	for _, name := range unused {
		if _, err := root.Lstat(name); err == nil {
			held = append(held, name)
		}
	}
	if len(held) > 0 {
		l.note("%s in it are not used", strings.Join(held, ", "))
	}
	return l.p, errors.Join(l.errs...)
}

func (l *loader) note(format string, args ...any) {
	l.p.Notes = append(l.p.Notes, fmt.Sprintf(format, args...))
}

func (l *loader) wrong(file string, line int, format string, args ...any) {
	l.errs = append(l.errs, &FileError{File: filepath.Join(l.shown, filepath.FromSlash(file)), Line: line, Text: fmt.Sprintf(format, args...)})
}

// read gives a file's text; false where there is none, or it is wrong.
func (l *loader) read(file string) (string, bool) {
	info, err := l.root.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", false
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	var raw []byte
	if err == nil {
		raw, err = l.bytes(file)
	}
	switch {
	case err != nil:
		l.wrong(file, 0, "it cannot be read (a link must not lead out of the plugin): %v", err)
	case len(raw) > MaxFile:
		l.wrong(file, 0, "it has more than %d bytes", MaxFile)
	case !utf8.Valid(raw):
		l.wrong(file, 0, "it is not UTF-8")
	default:
		return strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n"), true
	}
	return "", false
}

func (l *loader) bytes(file string) ([]byte, error) {
	f, err := l.root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// list names the entries of a folder, sorted; none where there is no folder.
func (l *loader) list(dir string) (names []string) {
	info, err := l.root.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = l.entries(dir)
	}
	if err != nil {
		l.wrong(dir, 0, "it cannot be read (a link must not lead out of the plugin): %v", err)
		return nil
	}
	if len(entries) > maxEntries {
		l.wrong(dir, 0, "it has more than %d entries", maxEntries)
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

func (l *loader) entries(dir string) ([]fs.DirEntry, error) {
	f, err := l.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// agents reads agents/*.md.
func (l *loader) agents() {
	for _, name := range l.list(agentsDir) {
		file := path.Join(agentsDir, name)
		if path.Ext(name) != ".md" {
			continue
		}
		text, ok := l.read(file)
		if !ok {
			continue
		}
		if a, ok := l.agent(file, text); ok {
			l.p.Agents = append(l.p.Agents, a)
		}
	}
	if len(l.p.Agents) > MaxAgents {
		l.wrong(agentsDir, 0, "it has more than %d agents", MaxAgents)
	}
	slices.SortFunc(l.p.Agents, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(l.p.Agents); i++ {
		if a, b := l.p.Agents[i-1], l.p.Agents[i]; a.Name == b.Name {
			l.wrong(b.File, 0, "its agent is called %q, as that of %s is", b.Name, a.File)
		}
	}
}

// skills reads skills/*/SKILL.md.
func (l *loader) skills() {
	at := map[string]string{}
	for _, name := range l.list(skillsDir) {
		file := path.Join(skillsDir, name, skillFile)
		text, ok := l.read(file)
		if !ok {
			continue
		}
		s, ok := l.skill(file, name, text)
		if !ok {
			continue
		}
		if other, twice := at[s.Name]; twice {
			l.wrong(file, 0, "its skill is called %q, as that of %s is", s.Name, other)
			continue
		}
		at[s.Name] = file
		l.p.Skills = append(l.p.Skills, s)
	}
	if len(l.p.Skills) > MaxSkills {
		l.wrong(skillsDir, 0, "it has more than %d skills", MaxSkills)
	}
	slices.SortFunc(l.p.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
}

// placed puts the plugin's folder in the place of its variable.
func (l *loader) placed(text string) string {
	return strings.ReplaceAll(text, "${"+Root+"}", l.p.Dir)
}
