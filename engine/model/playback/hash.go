package playback

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"github.com/flowerlua/flower/engine/model"
)

// hash stands for a part of a request, within this process.
type hash uint64

var seed = maphash.MakeSeed()

// hashMessage stands for a message, byte for byte.
func hashMessage(m model.Message) hash {
	var h maphash.Hash
	h.SetSeed(seed)
	put(&h, []byte(m.Role))
	for _, raw := range m.Content {
		put(&h, raw)
	}
	return hash(h.Sum64())
}

func hashMessages(list []model.Message) []hash {
	out := make([]hash, len(list))
	for i, m := range list {
		out[i] = hashMessage(m)
	}
	return out
}

// hashHead stands for all of a request but its messages.
func hashHead(r model.Request) hash {
	var h maphash.Hash
	h.SetSeed(seed)
	put(&h, []byte(r.Model))
	put(&h, strconv.AppendInt(nil, int64(r.MaxTokens), 10))
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		put(&h, []byte(name))
		put(&h, r.Extra[name])
	}
	put(&h, nil)
	for _, raw := range r.Tools {
		put(&h, raw)
	}
	put(&h, nil)
	for _, raw := range r.System {
		put(&h, raw)
	}
	return hash(h.Sum64())
}

// put adds a piece and a mark behind it that no text has. A hash never fails.
func put(h *maphash.Hash, piece []byte) {
	_, _ = h.Write(piece)
	_ = h.WriteByte(0)
}
