package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
)

// A receipt says that the model has seen a file's content, so that it may change
// it. It is bound to the content: a file that changed since has none.
type receipt struct {
	Path string `json:"path"` // with links resolved: one receipt whatever name was used
	Hash string `json:"hash"`
	// Seen are the lines that were shown, as ranges from 1 with both ends in;
	// empty means all of them.
	Seen [][2]int `json:"seen,omitempty"`
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// keepReceipt adds r to what is known: pages of one content add up. s.mu is held.
func (s *Set) keepReceipt(r receipt) {
	if r.Path == "" || r.Hash == "" {
		return
	}
	old, ok := s.receipts[r.Path]
	if ok && old.Hash == r.Hash {
		if len(old.Seen) == 0 || len(r.Seen) == 0 {
			r.Seen = nil
		} else {
			r.Seen = mergeRanges(append(slices.Clone(old.Seen), r.Seen...))
		}
	}
	s.receipts[r.Path] = r
}

// sawPage keeps and returns the receipt of lines first to last of a content of
// total lines; pages seen earlier count.
func (s *Set) sawPage(path, hash string, first, last, total int) receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepReceipt(receipt{Path: path, Hash: hash, Seen: [][2]int{{first, last}}})
	r := s.receipts[path]
	if len(r.Seen) == 1 && r.Seen[0][0] <= 1 && r.Seen[0][1] >= total {
		r.Seen = nil
		s.receipts[path] = r
	}
	return r
}

func (s *Set) receiptOf(path string) (receipt, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.receipts[path]
	return r, ok
}

// mergeRanges sorts rs and joins those that touch.
func mergeRanges(rs [][2]int) [][2]int {
	slices.SortFunc(rs, func(a, b [2]int) int { return a[0] - b[0] })
	out := rs[:0]
	for _, r := range rs {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

// sumOf is hashOf of what has been written to h.
func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
