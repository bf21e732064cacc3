// Package layout holds the map of the packages: which may import which. The
// table is docs/architecture.md's; a package that needs a row changed needs a
// reason there.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flowerlua/flower/"

// everything lets a package import whatever it likes.
const everything = "*"

// allowed is what each package may import beside the standard library: our own
// packages by their path below the module, others by the beginning of theirs.
var allowed = map[string][]string{
	"engine/event":      {},
	"engine/shell":      {"mvdan.cc/sh"},
	"engine/failure":    {},
	"engine/plugin":     {"go.yaml.in/yaml"},
	"engine/trace":      {"engine/model", "go.opentelemetry.io/otel"},
	"engine/document":   {"internal/atomicfile", "golang.org/x/text"},
	"engine/workbench":  {"internal/atomicfile"},
	"engine/model":      {},
	"engine/transcript": {"engine/shell"},
	"engine/guard":      {"engine/shell", "engine/workbench"},
	"engine/human":      {"engine/event", "engine/document", "engine/transcript", "internal/atomicfile"},
	"engine/tool": {"engine/event", "engine/human", "internal/atomicfile", "internal/spell", "github.com/bmatcuk/doublestar", "github.com/JohannesKaufmann/",
		"github.com/aymanbagabas/go-udiff", "golang.org/x/image", "github.com/pdfcpu/", "golang.org/x/net"},
	"engine/harness": {"engine/event", "engine/guard", "engine/model", "engine/tool", "engine/transcript", "internal/spell"},
	"engine/harness/native": {"engine/harness", "engine/model", "engine/tool", "engine/guard", "engine/transcript", "engine/failure",
		"engine/event", "engine/trace", "internal/spell", "golang.org/x/sync", "github.com/google/uuid", "github.com/modelcontextprotocol/go-sdk"},
	"engine": {"engine/event", "engine/plugin", "engine/shell", "engine/failure", "engine/document", "engine/workbench", "engine/transcript",
		"engine/guard", "engine/human", "engine/tool", "engine/harness", "engine/trace", "internal/atomicfile", "internal/spell", "internal/tree"},
	"engine/model/anthropic": {"engine/model", "github.com/anthropics/anthropic-sdk-go"},
	"engine/model/playback":  {"engine/model", "engine/failure", "internal/atomicfile", "github.com/gofrs/flock", "github.com/aymanbagabas/go-udiff"},
	"store":                  {"engine/transcript", "internal/atomicfile", "internal/socket", "github.com/dgraph-io/", "github.com/cespare/xxhash", "golang.org/x/sys", "github.com/gofrs/flock"},
	"store/storetest":        {"engine/transcript"},
	"settings":               {"github.com/joho/godotenv", "internal/spell"},
	"luabind": {"engine", "engine/document", "engine/event", "engine/guard", "engine/harness", "engine/human", "engine/model",
		"engine/tool", "engine/workbench", "stdlib", "internal/atomicfile", "internal/tree", "internal/spell",
		"github.com/yuin/gopher-lua", "github.com/bmatcuk/doublestar"},
	"stdlib":               {},
	"internal/atomicfile":  {"github.com/google/renameio", "github.com/gofrs/flock"},
	"internal/spell":       {},
	"internal/messagesapi": {},
	"internal/tree":        {},
	"internal/proxy":       {},
	"internal/otlp":        {"go.opentelemetry.io/otel"},
	"scripts":              {},
	"engine/harness/claudecode": {"engine/harness", "engine/model", "engine/tool", "engine/guard", "engine/transcript", "engine/event",
		"internal/proxy", "internal/messagesapi", "internal/spell", "github.com/google/uuid"},
	"engine/harness/harnesstest": {"engine/harness", "engine/model", "engine/tool", "engine/guard", "engine/transcript", "engine/event",
		"engine/failure", "internal/messagesapi"},
	"internal/layout": {},
	"internal/socket": {},
	"internal/live":   {"engine/event", "internal/atomicfile", "internal/socket"},
	"internal/crash":  {"engine/transcript", "store", "store/storetest"},
	"cmd/flower":      {everything},
	"examples":        {everything},
	"examples/embed":  {everything},
}

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		seen[name] = true
		row, ok := allowed[name]
		if !ok {
			t.Errorf("%s has no row in the table of packages", name)
			continue
		}
		for _, imported := range p.Imports {
			if !mayImport(row, imported) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("the table has a row for %s, which is no package", name)
		}
	}
}

func mayImport(row []string, imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || slices.Contains(row, everything) {
		return true // the standard library
	}
	if own, ok := strings.CutPrefix(imported, module); ok {
		return slices.Contains(row, own)
	}
	return slices.ContainsFunc(row, func(prefix string) bool { return strings.HasPrefix(imported, prefix) })
}
