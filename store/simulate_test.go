package store_test

import (
	"flag"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of the random operations; 0 makes one from the time")
	steps = flag.Int("steps", 1200, "number of random operations")
)

func pickSeed() {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
}

// The number of operations can be raised: go test ./store -run Random -steps 100000
func TestRandom_operations_agree_with_a_model(t *testing.T) {
	dir := t.TempDir()
	pickSeed()
	st := open(t, dir, nil)
	storetest.Random(t, st, *seed, *steps, func(st transcript.Store) transcript.Store {
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, dir, &store.Options{GCEvery: -1})
	})
}
