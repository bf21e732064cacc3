package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"github.com/flowerlua/flower/engine/failure"
	"github.com/flowerlua/flower/engine/harness/claudecode"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/settings"
	"github.com/flowerlua/flower/store"
)

// settings are all keys, the places they come from, and what of them cannot work.
// The result is where requests would go; empty where that is not known.
func (d *diagnosis) settings(workspace string, c *cli) (endpoint string) {
	s, err := settings.Load(settings.Options{Workspace: workspace})
	if err != nil {
		d.add("settings", "FLOWER_ENV", problemState, err.Error(), "correct the name, or unset FLOWER_ENV")
		return ""
	}
	for _, key := range settings.Keys {
		v := s.Lookup(key)
		d.Settings = append(d.Settings, examined{key, clean(v.Shown()), v.Origin, v.Line})
	}
	d.variables(c)
	for _, src := range s.Sources() {
		d.file(src)
	}
	for _, err := range s.Check() {
		d.add("settings", "value", problemState, err.Error(), "correct it there")
	}
	credential, err := s.Credential()
	switch {
	case errors.Is(err, settings.ErrNoCredential):
		d.add("settings", "key", problemState, "there is no API key and no token",
			"flower setup asks for one and tries it; without one, rehearse: flower --rehearse FILE.lua script.lua")
		return ""
	case err != nil:
		if len(s.Check()) == 0 { // else it is said above
			d.add("settings", "key", problemState, err.Error(), "put both into one place")
		}
		return ""
	case credential.Ignored != "":
		d.add("settings", "address", warningState, fmt.Sprintf("%s of %s is not used: the key comes from %s, and a key is only sent to an address from the same place",
			settings.BaseURL, credential.Ignored, credential.Origin), "put the key beside the address, or take the address away")
	}
	return cmp.Or(credential.BaseURL, anthropic.DefaultBaseURL)
}

// variables are what the environment alone sets.
func (d *diagnosis) variables(c *cli) {
	for _, name := range []string{"FLOWER_LANG", "FLOWER_ENV"} {
		e := examined{Key: name, Value: clean(os.Getenv(name))}
		if e.Value != "" {
			e.Origin = "environment"
		}
		d.Settings = append(d.Settings, e)
	}
	from := "the default"
	switch c.Lang {
	case os.Getenv("FLOWER_LANG"):
		from = "FLOWER_LANG"
	case "en":
	default:
		from = "--lang"
	}
	d.Settings = append(d.Settings, examined{Key: "language", Value: c.Lang, Origin: from})
}

// file is a place that was looked in. One with a secret is for its owner alone.
func (d *diagnosis) file(src settings.Source) {
	info, err := os.Stat(src.Name)
	switch {
	case src.Problem != nil:
		d.add("settings", "file", warningState, src.Problem.Error()+"; nothing of it is used", "correct the line, or remove the file")
	case !src.Found:
		d.well("settings", "file", "%s is not there", src.Name)
	case err != nil: // the environment
	case src.HasSecret() && info.Mode().Perm()&0o077 != 0:
		d.add("settings", "file", warningState, fmt.Sprintf("%s holds a secret, and others may read it (mode %o)", src.Name, info.Mode().Perm()),
			"chmod 600 "+shellWord(src.Name))
	default:
		d.well("settings", "file", "%s (mode %o)", src.Name, info.Mode().Perm())
	}
	for _, m := range src.Misspelt {
		d.add("settings", "name", warningState, src.Name+": "+m.String(), "rename it")
	}
}

// places are the folders of a run, and the room in them.
func (d *diagnosis) places(ctx context.Context, workspace, runDir string) {
	d.folder("workspace", workspace)
	if repository(ctx, workspace) {
		d.well("places", "git", "the workspace is a git repository with a commit")
		if tracked(ctx, workspace, ".env") {
			d.add("places", "git", warningState, "git keeps the workspace's .env, secrets included", "git rm --cached .env, list it in .gitignore, and make new keys")
		}
	} else {
		d.well("places", "git", "the workspace is no git repository with a commit, which --isolate needs")
	}
	d.folder("run directory", runDir)
	d.space(runDir)
	d.accounts(runDir)
	d.store(ctx, filepath.Join(runDir, "sessions"))
	if err := writable(os.TempDir()); err != nil {
		d.add("places", "temporary", problemState, fmt.Sprintf("%s cannot be written: %v", os.TempDir(), err), "name another folder in TMPDIR")
	}
}

// folder must be one that can be written, or that can be made.
func (d *diagnosis) folder(name, path string) {
	there := existingFolder(path)
	if err := writable(there); err != nil {
		d.add("places", name, problemState, fmt.Sprintf("%s: %s cannot be written: %v", path, there, err), "chmod u+rwx it, or name another folder (-w, -r)")
		return
	}
	if there != path {
		d.well("places", name, "%s (not made yet)", path)
		return
	}
	d.well("places", name, "%s", path)
}

// existingFolder is path, or the nearest folder above it that is there.
func existingFolder(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// writable asks the system, which knows of read-only file systems too. To the
// superuser modes mean nothing.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// space is what is free where the store is. Below the store's line nothing is
// written.
func (d *diagnosis) space(runDir string) {
	var st unix.Statfs_t
	if err := unix.Statfs(existingFolder(runDir), &st); err != nil {
		d.add("places", "disk", warningState, fmt.Sprintf("the free space of %s cannot be told: %v", runDir, err), "")
		return
	}
	d.free(int64(min(st.Bavail, 1<<50/uint64(st.Bsize))) * int64(st.Bsize))
}

// free judges free space: the store writes nothing below its line, and a run wants
// some more.
func (d *diagnosis) free(bytes int64) {
	text := byteSize(bytes) + " are free"
	switch {
	case bytes < store.DefaultMinFree:
		d.add("places", "disk", problemState, text+"; below "+byteSize(store.DefaultMinFree)+" nothing is recorded and a run waits", "make room, or name another run directory with -r")
	case bytes < 4*store.DefaultMinFree:
		d.add("places", "disk", warningState, text+"; below "+byteSize(store.DefaultMinFree)+" nothing is recorded and a run waits", "make room soon")
	default:
		d.well("places", "disk", "%s", text)
	}
}

// accounts are the files beside the store.
func (d *diagnosis) accounts(runDir string) {
	if rows, err := readManifest(runDir); err != nil {
		d.add("places", "accounts", warningState, err.Error(), "flower sessions restore brings a backup back, into a new run directory")
	} else if rows != nil {
		d.well("places", "accounts", "%s of %s", counted(len(rows), "row"), counted(len(byRun(rows)), "run"))
	}
	broken, _ := filepath.Glob(filepath.Join(runDir, "*.broken-*")) // the pattern is right
	for _, path := range broken {
		d.add("places", "accounts", warningState, path+" could not be read and was kept aside", "look whether something of it is wanted, then remove it")
	}
}

// store opens the store of an existing run directory, and makes nothing.
func (d *diagnosis) store(ctx context.Context, dir string) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		d.well("places", "store", "not made yet")
		return
	}
	db, err := store.Open(dir, &store.Options{GCEvery: -1})
	if err != nil {
		d.add("places", "store", problemState, err.Error(), storeAdvice(err))
		return
	}
	sessions, agents := 0, 0
	for info, listErr := range db.List(ctx, transcript.Key{}) {
		if err = listErr; err != nil {
			break
		}
		if info.Key.Sub == "" {
			sessions++
		} else {
			agents++
		}
	}
	if err = errors.Join(err, db.Sync(ctx), db.Close()); err != nil {
		d.add("places", "store", problemState, err.Error(), storeAdvice(err))
		return
	}
	d.well("places", "store", "opens: %s, %s, %s (flower sessions check reads everything)",
		counted(sessions, "session"), counted(agents, "subagent"), byteSize(folderSize(dir)))
}

func storeAdvice(err error) string {
	if errors.Is(err, transcript.ErrDamaged) {
		return "flower sessions check says what is damaged; flower sessions repair saves what can be read of a store that does not open"
	}
	return "see what the message says; another run directory (-r) works meanwhile"
}

func folderSize(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // what cannot be read is not counted
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

// programs are those that tools start.
func (d *diagnosis) programs(ctx context.Context, workspace, harness string) {
	for _, p := range []struct{ name, need, fix string }{
		{"git", "--isolate and the judges' throw-away copies need it", "apt-get install git, brew install git"},
		{"rg", "searches are done without it, slower", "apt-get install ripgrep, brew install ripgrep"},
		{"bash", "commands of agents run in sh instead", "apt-get install bash"},
	} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			d.add("programs", p.name, warningState, "not found: "+p.need, p.fix)
			continue
		}
		d.well("programs", p.name, "%s%s", path, versionOf(ctx, path))
	}
	d.claude(ctx, harness)
}

// versionOf is the first line that a program says of itself, behind a space; empty
// when it does not.
func versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil || line == "" {
		return ""
	}
	return " (" + oneLine(clean(line)) + ")"
}

// claude is the Claude Code CLI, which --harness claude drives and nothing else.
func (d *diagnosis) claude(ctx context.Context, harness string) {
	wanted := claudecode.Tried
	install := "npm install -g @anthropic-ai/claude-code@" + wanted
	bad := wellState
	if harness == "claude" {
		bad = problemState
	}
	found := claudecode.Installed(ctx)
	switch {
	case found.Path == "":
		d.add("programs", "claude", bad, "not found; --harness claude needs it, in version "+wanted, install)
	case found.Err != nil:
		d.add("programs", "claude", cmp.Or(map[string]string{wellState: warningState}[bad], bad), found.Err.Error(), nodeAdvice(found.Path, install))
	case found.Note != "":
		d.add("programs", "claude", warningState, fmt.Sprintf("%s has version %s, which --harness claude was not tried with; %s was", found.Path, found.Version, wanted), install)
	default:
		d.well("programs", "claude", "%s (version %s; %s was tried)", found.Path, found.Version, wanted)
	}
}

// nodeAdvice tells when the program is a script for a node that is not there.
func nodeAdvice(path, install string) string {
	raw, err := os.ReadFile(path)
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	if _, missing := exec.LookPath("node"); err == nil && bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("node")) && missing != nil {
		return "it is a script for node, which is not there: install node, or " + install
	}
	return install
}

// repository: the folder is in a git repository that has a commit.
func repository(ctx context.Context, dir string) bool {
	return exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "--verify", "-q", "HEAD").Run() == nil
}

func tracked(ctx context.Context, dir, file string) bool {
	return exec.CommandContext(ctx, "git", "-C", dir, "ls-files", "--error-unmatch", file).Run() == nil
}

// proxies are the variables that say which proxy takes the requests.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"}

// network is where requests go, and by which way. It asks only when it is told to.
func (d *diagnosis) network(ctx context.Context, endpoint string, online bool) {
	for _, name := range proxies {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		u, err := url.Parse(value)
		switch {
		case slices.Contains([]string{"NO_PROXY", "no_proxy"}, name):
			d.well("network", "proxy", "%s is %s", name, value)
		case err != nil:
			d.add("network", "proxy", problemState, name+" is no address", "give it one like http://proxy.example:3128, or unset it")
		default:
			d.well("network", "proxy", "%s is %s", name, u.Redacted())
		}
	}
	if endpoint == "" {
		return
	}
	shown := endpoint
	if u, err := url.Parse(endpoint); err == nil {
		shown = u.Redacted()
	}
	if !online {
		d.well("network", "address", "%s (--online looks whether it can be reached)", shown)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := (failure.Probe{Endpoint: endpoint}).Reach(ctx); err != nil {
		d.add("network", "address", problemState, fmt.Sprintf("%s cannot be reached: %v", shown, err), "look at the network, the proxy and the address; flower setup tries the key too")
		return
	}
	d.well("network", "address", "%s can be reached", shown)
}

// terminal is what a run would print to, and who would answer.
func (d *diagnosis) terminal(a *app) {
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(f.Fd()) {
		d.well("terminal", "input", "a terminal: questions can be answered")
	} else {
		d.well("terminal", "input", "no terminal: nobody can answer questions here (flower attach answers from a terminal)")
	}
	p := newPage(a.out)
	f, ok := a.out.(*os.File)
	switch {
	case !ok || !term.IsTerminal(f.Fd()):
		d.well("terminal", "output", "no terminal: plain lines, %d columns", p.width)
	case os.Getenv("TERM") == "dumb":
		d.well("terminal", "output", "a terminal of TERM=dumb: plain lines, %d columns", p.width)
	case p.colour:
		d.well("terminal", "output", "a terminal, %d columns, colour", p.width)
	default:
		d.well("terminal", "output", "a terminal, %d columns, no colour (NO_COLOR)", p.width)
	}
	if locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")); !strings.Contains(strings.ToLower(strings.ReplaceAll(locale, "-", "")), "utf8") {
		d.well("terminal", "locale", "%s: what is printed is UTF-8 all the same", cmp.Or(locale, "none"))
	}
}
