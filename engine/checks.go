package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"

	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/tool"
)

var (
	errNoContext  = errors.New("the context.Context is nil: give context.Background(), or one that ends with the caller")
	errNoWorkflow = errors.New("the workflow is nil: make an engine.Workflow with steps")
)

// toolName is what providers take as the name of a tool. The length is not part of
// the expression, which it would make large.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

const longestToolName = 128

// checkTools reports the first tool that no model could be offered, by its place in the
// field.
func checkTools(field string, tools []tool.Tool) error {
	for i, t := range tools {
		if err := checkTool(t); err != nil {
			return fmt.Errorf("%s[%d] %w", field, i, err)
		}
	}
	return nil
}

func checkTool(t tool.Tool) error {
	if isNil(t) {
		return errors.New("is nil")
	}
	var d tool.Definition
	err := safely(func() error {
		d = t.Definition()
		return nil
	})
	if err != nil {
		return fmt.Errorf("has no definition: %w", err)
	}
	if !toolName.MatchString(d.Name) || len(d.Name) > longestToolName {
		return fmt.Errorf("is called %q; a name has 1 to %d letters, digits, _ and -", d.Name, longestToolName)
	}
	if f, ok := t.(tool.Func); ok && f.Call == nil {
		return fmt.Errorf("(%s) has no function to call", d.Name)
	}
	var schema struct {
		Type any `json:"type"`
	}
	if raw := bytes.TrimSpace(d.Schema); len(raw) > 0 && (json.Unmarshal(raw, &schema) != nil || schema.Type != "object") {
		return fmt.Errorf(`(%s) has a schema that is not of an object: it begins with {"type":"object"`, d.Name)
	}
	return nil
}

// checkNames reports two tools of one name.
func checkNames(field string, tools []tool.Tool) error {
	first := map[string]int{}
	for i, t := range tools {
		name := t.Definition().Name
		if n, again := first[name]; again {
			return fmt.Errorf("%s[%d] and [%d] are both called %s", field, n, i, name)
		}
		first[name] = i
	}
	return nil
}

// checkGuards reports the first guard that cannot be asked, by its place.
func checkGuards(guards []guard.Guard) error {
	for i, g := range guards {
		if isNil(g) {
			return fmt.Errorf("guards[%d] is nil", i)
		}
	}
	return nil
}

// isNil: v is nil, or a nil pointer or function in an interface.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}

// checkBrought reports tools, endpoint and own files of a Config that cannot work.
func (c *Config) checkBrought() error {
	if err := checkTools("Config.Tools", c.Tools); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := checkNames("Config.Tools", c.Tools); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	for i, path := range c.Own {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("engine: Config.Own[%d] is %q; it is an absolute path", i, path)
		}
	}
	if c.Endpoint == "" {
		return nil
	}
	// The error of the parser repeats the text, which may hold a password.
	if u, err := url.Parse(c.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("engine: Config.Endpoint is not an http or https URL: give the address of the provider, or leave it empty")
	}
	return nil
}

// checkFolders reports an added folder that is not there.
func (b *base) checkFolders(dirs []string) error {
	for i, dir := range dirs {
		switch info, err := os.Stat(b.inWorkspace(dir)); {
		case err != nil:
			return fmt.Errorf("add_dirs[%d]: %w: make the folder, or leave it out", i, err)
		case !info.IsDir():
			return fmt.Errorf("add_dirs[%d]: %s is not a folder", i, dir)
		}
	}
	return nil
}

// inWorkspace is an absolute path of one that may be relative to the workspace.
func (b *base) inWorkspace(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.workspace, path)
	}
	return filepath.Clean(path)
}
