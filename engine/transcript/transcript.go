// Package transcript holds what a session is made of, the contract of the place
// where it is kept, and what is fed back from it to the model.
//
// An Entry is one line of a transcript: a JSON object in the form Claude Code
// writes (uuid, parentUuid, type, message, …). Its bytes are kept as they are;
// beside them stands a typed Header, so that lists and views need not parse what
// they do not change. A Key names a transcript, a Store keeps transcripts, a
// Head is what the store knows of one without reading it.
//
// What is stored never changes. A session is opened in four steps: load all of it;
// Repair gives the entries to append when a crash cut off its tail; Live selects
// the branch that counts, of a session that was rewound; View makes of it what the
// model is fed, after a Policy. A View takes Decisions; repeated, they give the
// same bytes again, as the provider's cache needs it. View and Policy say
// what may be changed and what must not.
//
// Summarize and LastContext tell of a transcript in few words. Import and Export
// exchange transcripts with Claude Code, line by line and byte for byte.
//
// The usual mistakes: to view entries before Repair has closed what a crash left
// open; to view all entries where Live would leave out dead branches; to use a View
// before its Report's Spills are written.
package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Key names one transcript: project / session, and below it the transcripts of
// subagents ("subagents/agent-<id>").
type Key struct {
	Project string
	Session string
	Sub     string // empty for the main thread
}

// String is the key as a path.
func (k Key) String() string {
	s := k.Project + "/" + k.Session
	if k.Sub != "" {
		s += "/" + k.Sub
	}
	return s
}

// Subagent is the key of a subagent's transcript below k's session.
func (k Key) Subagent(id string) Key {
	return Key{Project: k.Project, Session: k.Session, Sub: "subagents/agent-" + id}
}

// AgentID is the subagent's id in k, empty on the main thread.
func (k Key) AgentID() string { return strings.TrimPrefix(k.Sub, "subagents/agent-") }

// Entry is one line of a transcript. Raw belongs to the entry and must not be
// changed by anyone.
type Entry struct {
	// Seq is the entry's place in its transcript, from 1, given by the store;
	// 0 before that.
	Seq uint64
	Header
	Raw json.RawMessage
}

// Header is what stands beside an entry's bytes. Parse derives it from them.
type Header struct {
	UUID      string
	Parent    string    // parentUuid, empty when null or absent
	Type      string    // user, assistant, system, summary, …
	Subtype   string    // of system entries: compact_boundary, flower_prefix, …
	Role      string    // message.role
	MessageID string    // message.id: the entries of one reply of the model share it
	Time      time.Time // zero when absent or not a time
	Flags     Flags
	// ToolUses and ToolResults are the tool_use ids that the entry opens and closes.
	ToolUses    []string
	ToolResults []string
	Size        int // of Raw, in bytes

	// tools say where the tool blocks are; nil is not known.
	tools []block
}

// Flags are the marks of an entry that views and lists look at.
type Flags uint16

// The marks.
const (
	Meta           Flags = 1 << iota // isMeta: not the person's words
	APIError                         // isApiErrorMessage: synthetic, not the model's words
	Sidechain                        // isSidechain: of a subagent
	CompactSummary                   // isCompactSummary
	ErrorResult                      // holds a tool_result with is_error
	Denied                           // toolDenialKind: its results with is_error are denials
	NotUnicode                       // holds bytes or escapes that are no Unicode; a view mends them
)

// PrefixSubtype marks the system entries that keep the rendered beginning of a
// session's requests (type "system", subtype "flower_prefix"). Views and Export
// leave them out.
const PrefixSubtype = "flower_prefix"

// Has reports whether all of mark are set.
func (f Flags) Has(mark Flags) bool { return f&mark == mark }

// Head is what the store knows of a transcript without reading its entries.
type Head struct {
	Count    uint64    // entries
	Last     uint64    // Seq of the newest entry; 0 when there is none
	Chain    [32]byte  // hash over all entries in order
	Modified time.Time // of the newest append; strictly increasing per transcript
}

// Info is one transcript in a list.
type Info struct {
	Key  Key
	Head Head
}

// Change is one thing that happened in a store, for a live look.
type Change struct {
	Key  Key
	Last uint64 // the transcript's newest Seq after the change; 0: it was deleted
}

// MaxValue bounds a small value of a Store, in bytes.
const MaxValue = 1 << 20

// Errors of a Store. Implementations wrap them with what they know.
var (
	// ErrNotFound: no such transcript, value or message.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else wrote since; load again and decide anew.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the store cannot be used now (closed, disk full, owner
	// gone); nothing was written. A run waits, and tries again.
	ErrUnavailable = errors.New("store unavailable")
	// ErrClosed is an ErrUnavailable for which no wait helps: this process closed the
	// store, or what it was kept in is gone for good. A run ends at once.
	ErrClosed = fmt.Errorf("store was closed: %w", ErrUnavailable)
	// ErrDamaged: what is stored is not what was written; the error names the
	// session and what can be saved.
	ErrDamaged = errors.New("store damaged")
)

// Store keeps transcripts and small values. Implementations are safe for
// concurrent use, and an Append or Put that returned nil survives kill -9 of the
// process; Sync makes it survive a power cut as well. A call whose ctx has ended
// returns ctx's error.
//
// The key of a transcript has a project and a session, and no field of it a NUL byte;
// all else may stand in it, "/" and line ends too. What cannot be kept is refused and
// nothing is written: an Append to another key or of an entry without Raw, a Put
// without a name or of more than MaxValue bytes. An entry may be megabytes large. The
// tests of all this are a package, store/storetest, for implementations to run.
type Store interface {
	// Append writes entries to the end of key's transcript. expect is the Seq of
	// the newest entry the caller knows, 0 for a new transcript. It returns the
	// newest Seq afterwards.
	//
	// Entries whose uuid is stored already, or comes twice in es, are left out: a
	// replay changes nothing. With a stale expect nothing is written: the call
	// succeeds when the stored entries from there on equal es byte for byte (a
	// retry), else it fails with ErrConflict (a second writer). All of es is
	// written or none of it.
	Append(ctx context.Context, key Key, expect uint64, es []Entry) (last uint64, err error)
	// Load yields the entries with Seq > from, in order; none when from is at or
	// behind the newest. It is never short: what
	// cannot be read ends the sequence with an error. A transcript that does
	// not exist yields ErrNotFound.
	Load(ctx context.Context, key Key, from uint64) iter.Seq2[Entry, error]
	// Head tells of a transcript without reading it; ErrNotFound.
	Head(ctx context.Context, key Key) (Head, error)
	// Fork makes dst a transcript that begins with src's entries up to and
	// including the one with uuid at (all when empty), in constant time. ErrNotFound
	// for src or at; ErrConflict when dst exists.
	Fork(ctx context.Context, src Key, at string, dst Key) error
	// List yields the transcripts whose key begins with prefix's fields (empty
	// fields match all, so prefix need not be a whole Key), ordered field by field:
	// by project, then session, then sub, each byte by byte, which is not the order
	// of Key.String. Subagents' are included.
	List(ctx context.Context, prefix Key) iter.Seq2[Info, error]
	// Delete removes a transcript and, for a main thread, those of its subagents.
	// What forks share with it stays theirs. Deleting what is not there is no error.
	Delete(ctx context.Context, key Key) error
	// Get reads a small value and its revision; ErrNotFound.
	Get(ctx context.Context, name string) (value []byte, rev uint64, err error)
	// Put writes a small value if its revision is still rev (0: it is new) and
	// returns the new revision, else ErrConflict. name is not empty and value at most
	// MaxValue bytes, none is one too; a name of 1 KiB must be taken. Values and
	// transcripts of one name are two things.
	Put(ctx context.Context, name string, value []byte, rev uint64) (uint64, error)
	// Watch yields a Change for every append and delete below prefix from now on,
	// until ctx ends. A slow reader misses intermediate changes, never the last.
	Watch(ctx context.Context, prefix Key) iter.Seq2[Change, error]
	// Sync returns when everything appended before is safe against a power cut.
	Sync(ctx context.Context) error
	// Close syncs and closes, and ends every Watch. Later calls return ErrClosed.
	Close() error
}
