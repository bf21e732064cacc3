package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/event"
)

// documented holds docs/events.md against an event that was sent: the row of its kind
// names all that its payload carries.
func documented(t *testing.T, e event.Event) {
	t.Helper()
	doc, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(doc), "\n| `"+string(e.Kind)+"` |")
	row, _, _ = strings.Cut(row, "\n")
	for field := range e.Payload {
		if !strings.Contains(row, "`"+field+"`") {
			t.Errorf("docs/events.md does not tell that %s carries %s: %s", e.Kind, field, row)
		}
	}
}
