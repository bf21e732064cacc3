package human_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/store"
)

// TestLog_has_each_question_once_whenever_the_process_died: the answer is stored
// before the log is written, so the process that continues may have to write it.
func TestLog_has_each_question_once_whenever_the_process_died(t *testing.T) {
	for name, dies := range map[string]bool{"before the log was written": true, "behind it": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := store.Open(filepath.Join(dir, "s"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			log := filepath.Join(dir, "qa.md")
			o := human.Options{Store: db, Project: "p", LogPath: log}
			first := channel(t, o)
			done := make(chan human.Reply)
			go func() { done <- first.Ask(t.Context(), "call", "Which port?", []string{"80", "8080"}) }()
			for len(first.Pending()) == 0 {
				time.Sleep(time.Millisecond)
			}
			stop := atomicfile.Watch(func(c atomicfile.Change) error {
				if dies && strings.HasPrefix(c.Path, dir) {
					return errors.New("the process died")
				}
				return nil
			})
			first.Answer("q1", "8080")
			<-done
			stop()
			for range 2 {
				if r := channel(t, o).Ask(t.Context(), "call", "Which port?", []string{"80", "8080"}); r.Text != "8080" {
					t.Errorf("%+v", r)
				}
			}
			content, err := os.ReadFile(log)
			if err != nil || strings.Count(string(content), "## q1 ") != 1 || strings.Count(string(content), "> 8080") != 1 {
				t.Errorf("the log: %v\n%s", err, content)
			}
		})
	}
}
