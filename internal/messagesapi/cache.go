package messagesapi

// The prompt cache, by the provider's published rules: a prompt is tools, then
// system, then messages; a breakpoint asks to keep the prefix that ends with its
// block; a prefix is found again at a breakpoint or at up to twenty blocks before
// one; what is found lives on from then.

import (
	"crypto/sha256"
	"time"
)

// lookback is how many blocks before a breakpoint a kept prefix is looked for.
const lookback = 20

// cacheEntries is how many prefixes are kept at most.
const cacheEntries = 1 << 16

// digest stands for a prefix.
type digest [sha256.Size]byte

// unit is one block of a prompt with all that comes before it.
type unit struct {
	prefix digest
	tokens int           // of the whole prefix
	ttl    time.Duration // of the breakpoint here; 0 = none
}

// cache holds the kept prefixes. It is guarded by Server.mu.
type cache struct {
	entries map[digest]cacheEntry
}

type cacheEntry struct {
	ttl     time.Duration
	expires time.Time
}

// cachePlan is how the cache serves a request; commit makes it so.
type cachePlan struct {
	units []unit
	hit   int // the unit whose prefix was found; -1 = none
}

var lifetimes = map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour}

// promptUnits cuts a prompt into its blocks. There is at least one: a request has
// messages.
func promptUnits(r *Request, p *parsedBody) []unit {
	var units []unit
	var prefix digest
	tokens := 0
	add := func(label string, b Block, ttl string) {
		block := canonical(b.Raw)
		tokens += b.size(block)
		h := sha256.New()
		h.Write(prefix[:])
		h.Write([]byte(label + "\x00"))
		h.Write(block)
		h.Sum(prefix[:0])
		units = append(units, unit{prefix, tokens, lifetimes[ttl]})
	}
	prefix = sha256.Sum256([]byte(r.Model))
	for _, t := range r.Tools {
		add("tool", Block{Raw: t.Raw}, t.CacheTTL)
	}
	for _, b := range r.System {
		add("system", b, b.CacheTTL)
	}
	// Another way of thinking or of choosing tools changes the prompt behind the
	// system blocks.
	prefix = sha256.Sum256(append(append(prefix[:], p.thinking...), p.toolChoice...))
	for _, m := range r.Messages {
		for _, b := range m.Content {
			ttl := b.CacheTTL
			for _, inner := range b.Content {
				ttl = max(ttl, inner.CacheTTL) // "5m" > "1h" > "": the shorter one holds
			}
			add(m.Role, b, ttl)
		}
	}
	if last := &units[len(units)-1]; last.ttl == 0 {
		last.ttl = lifetimes[p.cacheTTL]
	}
	return units
}

// blobTokens is what an image or document with inline data counts as.
const blobTokens = 1600

// size is how many tokens a block in its canonical form counts as.
func (b Block) size(canonical []byte) int {
	blobs, bytes := b.blobs()
	return blobs*blobTokens + (max(len(canonical)-bytes, 0)+3)/4
}

// blobs are how many images and documents a block brings, and their bytes.
func (b Block) blobs() (count, bytes int) {
	if b.blob.bytes > 0 {
		count, bytes = 1, b.blob.bytes
	}
	for _, inner := range b.Content {
		n, size := inner.blobs()
		count, bytes = count+n, bytes+size
	}
	return count, bytes
}

// planCache looks for the longest kept prefix.
func (s *Server) planCache(units []unit) cachePlan {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	plan := cachePlan{units: units, hit: -1}
	for i := len(units) - 1; i >= 0; i-- {
		if units[i].ttl == 0 {
			continue
		}
		for j := i; j >= max(0, i-lookback) && j > plan.hit; j-- {
			if e, kept := s.cache.entries[units[j].prefix]; kept && now.Before(e.expires) {
				plan.hit = j
			}
		}
	}
	return plan
}

// commit keeps the prefixes that the plan's breakpoints ask for and returns what
// was read and written.
func (s *Server) commit(plan cachePlan) Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	s.cache.prune(now)
	var u Usage
	done := 0 // tokens accounted for
	if plan.hit >= 0 {
		found := plan.units[plan.hit]
		done = found.tokens
		u.CacheRead = done
		if e, kept := s.cache.entries[found.prefix]; kept {
			s.cache.entries[found.prefix] = cacheEntry{e.ttl, now.Add(e.ttl)}
		}
	}
	for i, b := range plan.units {
		if b.ttl == 0 || b.tokens < s.opts.MinCache {
			continue
		}
		if i > plan.hit {
			written := b.tokens - done
			done = b.tokens
			if b.ttl == time.Hour {
				u.CacheWrite1h += written
			} else {
				u.CacheWrite5m += written
			}
		}
		if e, kept := s.cache.entries[b.prefix]; kept && now.Before(e.expires) {
			b.ttl = max(b.ttl, e.ttl)
		} else if i <= plan.hit {
			continue // a shorter prefix is not kept anew when a longer one was found
		}
		s.cache.entries[b.prefix] = cacheEntry{b.ttl, now.Add(b.ttl)}
	}
	u.Input = plan.units[len(plan.units)-1].tokens - done
	return u
}

// prune forgets what has expired, and everything when there is too much.
func (c *cache) prune(now time.Time) {
	if c.entries == nil || len(c.entries) > cacheEntries {
		c.entries = map[digest]cacheEntry{}
	}
	for key, e := range c.entries {
		if !now.Before(e.expires) {
			delete(c.entries, key)
		}
	}
}
