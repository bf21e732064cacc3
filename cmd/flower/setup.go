package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/settings"
)

// setupCommand asks for what a run needs, tries it, and writes it down.
type setupCommand struct {
	NoProbe bool `help:"Write the settings without trying them."`
}

// answers are what a person said.
type answers struct {
	key, token, baseURL, model string
}

// probeTime is how long the provider may take to answer the probe.
const probeTime = 30 * time.Second

// setup asks, probes and writes. Nothing is written of what was tried and does not
// work.
func (a *app) setup(ctx context.Context, c *cli) error {
	path := settings.ConfigFile(settings.Options{})
	if path == "" {
		return errors.New("there is no home folder to write settings to: set HOME or XDG_CONFIG_HOME")
	}
	said, err := a.askSettings(ctx)
	if err != nil {
		return err
	}
	if !c.Setup.NoProbe {
		if err := said.probe(ctx); err != nil {
			return fmt.Errorf("%w\nNothing was written (--no-probe writes without trying)", err)
		}
		fmt.Fprintf(a, "%s answers.\n", clean(shownAddress(cmp.Or(said.baseURL, anthropic.DefaultBaseURL))))
	}
	if err := said.write(path); err != nil {
		return err
	}
	fmt.Fprintf(a, "The settings are in %s, for you alone.\n", shownPath(path))
	return a.warnOfOthers(c, path)
}

// warnOfOthers says when another place goes before what was written.
func (a *app) warnOfOthers(c *cli, path string) error {
	workspace, _, err := c.places()
	if err != nil {
		return err
	}
	s, err := settings.Load(settings.Options{Workspace: workspace})
	if err != nil {
		return err
	}
	for _, key := range []string{settings.APIKey, settings.AuthToken, settings.BaseURL, settings.Model} {
		if v := s.Lookup(key); v.Text != "" && v.Origin != path {
			fmt.Fprintf(a, "But here %s comes from %s, which goes before.\n", key, clean(v.Origin))
		}
	}
	return nil
}

// askSettings asks question after question; Enter takes what stands in brackets.
func (a *app) askSettings(ctx context.Context) (said answers, err error) {
	kind, err := a.question(ctx, "An API key (key) or a bearer token (token)? [key] ", false)
	if err == io.EOF {
		return said, wrongUse("nobody answers: standard input is at its end (type at a terminal, or pipe the answers in, a line for each question)")
	}
	if err != nil {
		return said, err
	}
	kind = cmp.Or(kind, "key")
	if kind != "key" && kind != "token" {
		return said, wrongUse("the answer is key or token, not %q", kind)
	}
	secret, err := a.question(ctx, "The "+kind+" (it is not shown): ", true)
	if err != nil && err != io.EOF {
		return said, err
	}
	if secret == "" || strings.ContainsFunc(secret, unfit) {
		return said, wrongUse("the %s is empty, or holds spaces or quotes", kind)
	}
	if kind == "key" {
		said.key = secret
	} else {
		said.token = secret
	}
	address, err := a.question(ctx, "Address, for a gateway ["+anthropic.DefaultBaseURL+"]: ", false)
	if err != nil && err != io.EOF { // without an answer it is what stands in brackets
		return said, err
	}
	if said.baseURL, err = checkAddress(address); err != nil {
		return said, err
	}
	said.model, err = a.question(ctx, "Model ["+anthropic.DefaultModel+"]: ", false)
	if err == io.EOF {
		err = nil
	}
	if strings.ContainsFunc(said.model, unfit) {
		return said, wrongUse("%q is not the name of a model", said.model)
	}
	return said, err
}

// unfit are characters that no setting has, and that a file of settings would need
// quotes for.
func unfit(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("'\"`\\", r) }

// checkAddress is a base URL without /v1 and a slash at its end.
func checkAddress(text string) (string, error) {
	text = strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1")
	if text == "" || text == anthropic.DefaultBaseURL {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsFunc(text, unfit) {
		return "", wrongUse("%q is not an address; it is like https://gateway.example", text)
	}
	return text, nil
}

// question prints a question and reads a line, unseen when it is secret. io.EOF:
// there is none any more.
func (a *app) question(ctx context.Context, text string, secret bool) (string, error) {
	fmt.Fprint(a.err, text)
	type read struct {
		line string
		err  error
	}
	f, isFile := a.in.(*os.File)
	hidden := secret && isFile && term.IsTerminal(f.Fd())
	var before *term.State
	if hidden {
		before, _ = term.GetState(f.Fd()) // without, there is nothing to give back
	}
	done := make(chan read, 1)
	go func() { // it may outlive a Ctrl-C; the process ends then
		if hidden {
			raw, err := term.ReadPassword(f.Fd())
			done <- read{string(raw), err}
			return
		}
		line, err := lineOf(a.in)
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		if !isFile || hidden || !term.IsTerminal(f.Fd()) {
			fmt.Fprintln(a.err)
		}
		return strings.TrimSpace(r.line), r.err
	case <-ctx.Done():
		if before != nil {
			_ = term.Restore(f.Fd(), before) // the process ends, and says why
		}
		fmt.Fprintln(a.err)
		if errors.Is(context.Cause(ctx), errInterrupted) {
			return "", errLeft
		}
		return "", context.Cause(ctx)
	}
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 10

// lineOf reads one line and nothing behind it, which is for the next question.
func lineOf(r io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < maxAnswer {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line), nil
		}
		line = append(line, one[:n]...)
		if err != nil {
			if err == io.EOF && len(line) > 0 {
				err = nil
			}
			return string(line), err
		}
	}
	return "", wrongUse("the answer is longer than %d bytes", maxAnswer)
}

// probe sends one tiny request and tells apart what may be wrong: the credential,
// what was typed, or the way there.
func (s answers) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	client := anthropic.New(&anthropic.Options{Key: s.key, Token: s.token, BaseURL: s.baseURL})
	stream, err := client.Stream(ctx, model.Request{
		Model: cmp.Or(s.model, anthropic.DefaultModel), MaxTokens: 1,
		Messages: []model.Message{{Role: "user", Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"Hi"}`)}}},
	})
	if err == nil {
		defer stream.Close()
		for err == nil {
			_, err = stream.Recv()
		}
		if err == io.EOF {
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return s.explain(err)
}

// ours is a line of a settings file that sets what setup asks for.
var ours = regexp.MustCompile(`^\s*(export\s+)?(ANTHROPIC_API_KEY|ANTHROPIC_AUTH_TOKEN|ANTHROPIC_BASE_URL|ANTHROPIC_MODEL)\s*[=:]`)

// write replaces our lines of the file and keeps all others. Nobody else may read
// it, whoever could before.
func (s answers) write(path string) error {
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("settings: %w", err)
	}
	return atomicfile.Update(path, 0o600, func(old []byte) ([]byte, error) {
		lines := strings.Split(strings.TrimRight(string(old), "\n"), "\n")
		lines = slices.DeleteFunc(lines, ours.MatchString)
		if len(lines) == 1 && lines[0] == "" {
			lines = nil
		}
		for _, v := range []struct{ key, text string }{
			{settings.APIKey, s.key}, {settings.AuthToken, s.token}, {settings.BaseURL, s.baseURL}, {settings.Model, s.model},
		} {
			if v.text != "" {
				lines = append(lines, v.key+"='"+v.text+"'")
			}
		}
		return []byte(strings.Join(lines, "\n") + "\n"), nil
	})
}
