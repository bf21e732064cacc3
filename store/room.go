package store

import (
	"sync"
	"time"
)

// room is free space that was found a moment ago and is not used up. To ask for each write
// would take as long as the write.
type room struct {
	mu    sync.Mutex
	left  int64
	found time.Time
}

const (
	roomLasts = 20 * time.Millisecond
	roomMost  = 4 << 20 // bytes
)

func (r *room) take(size int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size > r.left || time.Since(r.found) > roomLasts {
		return false
	}
	r.left -= size
	return true
}

func (r *room) give(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.found = min(size, roomMost), time.Now()
}

// writable is nil when there is room for that many bytes more.
func (e *engine) writable(size int64) error {
	if err := e.unbroken(); err != nil || e.o.MinFree < 0 {
		return err
	}
	// What is written goes to the journal, to a log of the database and to a table.
	size *= 3
	if e.room.take(size) {
		return nil
	}
	if err := e.present(); err != nil {
		return err
	}
	free, err := freeSpace(e.dir)
	if err != nil {
		return unavailable("store %s: free space is not known (%v)", e.dir, err)
	}
	if free < e.o.MinFree+size {
		return unavailable("store %s: %d MiB are free, %d MiB are needed: make room; nothing was lost",
			e.dir, free>>20, (e.o.MinFree+size)>>20)
	}
	e.room.give(free - e.o.MinFree - size)
	return nil
}

// roomFor is nil when the database may be given that many bytes. It maps its files into
// memory: with a full disk, a write to them would end the process.
func (e *engine) roomFor(size int) error {
	free, err := freeSpace(e.dir)
	need := min(e.o.MinFree, openNeeds) + 2*int64(size)
	if err != nil || e.o.MinFree < 0 || free >= need {
		return err
	}
	return unavailable("store %s: %d MiB are free, %d MiB are needed: make room; nothing was lost", e.dir, free>>20, need>>20)
}
