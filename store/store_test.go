package store_test

import (
	"testing"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// open opens a store that is closed when the test ends.
func open(t testing.TB, dir string, o *store.Options) *store.Store {
	t.Helper()
	st, err := store.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestStore_keeps_the_contract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) transcript.Store { return open(t, t.TempDir(), nil) })
}

func TestStore_keeps_the_contract_synced_always(t *testing.T) {
	if testing.Short() {
		t.Skip("each write waits for the disk")
	}
	storetest.Run(t, func(t *testing.T) transcript.Store {
		return open(t, t.TempDir(), &store.Options{SyncAlways: true})
	})
}
