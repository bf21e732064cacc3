package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/flowerlua/flower/internal/atomicfile"
)

func TestUpdate_of_many_writers_loses_no_change(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counter")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := atomicfile.Update(path, 0o644, func(old []byte) ([]byte, error) {
				n, _ := strconv.Atoi(string(old)) // absent counts as 0
				return fmt.Append(nil, n+1), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := read(t, path); got != "20" {
		t.Errorf("counter = %s, want 20", got)
	}
}

func TestUpdate_writes_nothing_when_the_change_fails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	boom := errors.New("boom")
	err := atomicfile.Update(path, 0o644, func([]byte) ([]byte, error) { return []byte("x"), boom })
	if !errors.Is(err, boom) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file was written: %v", err)
	}
}
