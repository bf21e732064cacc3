package store_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// smallDisk mounts one of 64 MiB, which only root may.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs the right to mount a small disk")
	}
	dir = t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	return dir
}

func TestDisk_that_fills_refuses_writes_and_loses_nothing(t *testing.T) {
	dir := smallDisk(t) + "/store"
	o := &store.Options{MinFree: 24 << 20, GCEvery: -1}
	st, err := store.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for err == nil {
		var n uint64
		if n, err = st.Append(ctx, key("a"), last, []transcript.Entry{numbered("a", last+1, 400_000)}); err == nil {
			last = n
		}
	}
	if !errors.Is(err, transcript.ErrUnavailable) || !strings.Contains(err.Error(), "make room") || last < 20 {
		t.Fatalf("%d entries, error %v", last, err)
	}
	// A batch that would not fit is refused as a whole, before it is begun.
	if err := st.Delete(ctx, key("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.GC(ctx); err != nil {
		t.Fatal(err)
	}
	huge := []transcript.Entry{storetest.Entry("1", strings.Repeat("x", 24<<20))}
	if _, err := st.Append(ctx, key("b"), 0, huge); !errors.Is(err, transcript.ErrUnavailable) {
		t.Errorf("a batch larger than the disk: %v", err)
	}
	for seq := uint64(1); seq <= 10; seq++ {
		if _, err := st.Append(ctx, key("c"), seq-1, []transcript.Entry{numbered("c", seq, 400_000)}); err != nil {
			t.Fatalf("after making room: %v", err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, dir, o)
	if n := checkNumbered(t, st, "c", 400_000); n != 10 {
		t.Errorf("%d entries", n)
	}
	if _, err := st.Head(ctx, key("b")); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
}
