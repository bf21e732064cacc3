package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/flowerlua/flower/engine/transcript"
)

// The keys of the database. A transcript owns a log, numbered for life; entries
// hang on the log, not on the transcript, so that forks can share them.
//
//	h project 0 session 0 sub   the head of a transcript
//	e log seq                   an entry
//	u log uuid                  the seq of the entry with that uuid
//	r log project 0 session …   who reads the log, and up to which seq
//	g log                       entries above this seq are waste, not yet removed
//	b hash log seq              the entry's bytes are the file of that hash
//	v name                      a small value
//	m name                      what the store knows of itself
const (
	tagHead    = 'h'
	tagEntry   = 'e'
	tagUUID    = 'u'
	tagReader  = 'r'
	tagWaste   = 'g'
	tagBlob    = 'b'
	tagValue   = 'v'
	tagMeta    = 'm'
	keyStoreID = "mid"
	keyNextLog = "mnext"
	keySynced  = "msynced" // the newest journal that is not needed any more
	keyTaken   = "mtaken"  // the place in the journal up to which the database was written to
)

// maxName bounds each field of a key and the name of a small value, in bytes.
const maxName = 1024

// checkKey refuses keys that cannot be stored.
func checkKey(k transcript.Key) error {
	if k.Session == "" {
		return fmt.Errorf("transcript key %q has no session: name one", k.String())
	}
	for _, f := range [...]string{k.Project, k.Session, k.Sub} {
		if err := checkName(f); err != nil {
			return fmt.Errorf("transcript key %.80q: %w", k.String(), err)
		}
	}
	return nil
}

func checkName(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("name %.80q holds a zero byte: leave it out", s)
	}
	if len(s) > maxName {
		return fmt.Errorf("name %.80q… has %d bytes, more than %d: shorten it", s, len(s), maxName)
	}
	return nil
}

// keyBytes is k in the form that sorts by project, session, sub.
func keyBytes(k transcript.Key) []byte {
	b := make([]byte, 0, len(k.Project)+len(k.Session)+len(k.Sub)+2)
	b = append(b, k.Project...)
	b = append(b, 0)
	b = append(b, k.Session...)
	b = append(b, 0)
	return append(b, k.Sub...)
}

func parseKey(b []byte) (transcript.Key, bool) {
	parts := bytes.Split(b, []byte{0})
	if len(parts) != 3 {
		return transcript.Key{}, false
	}
	return transcript.Key{Project: string(parts[0]), Session: string(parts[1]), Sub: string(parts[2])}, true
}

func headKey(k transcript.Key) []byte { return append([]byte{tagHead}, keyBytes(k)...) }

// headPrefix is the longest prefix that the head keys below p share.
func headPrefix(p transcript.Key) []byte {
	switch {
	case p.Project == "":
		return []byte{tagHead}
	case p.Session == "":
		return append([]byte{tagHead}, p.Project+"\x00"...)
	default:
		return append([]byte{tagHead}, p.Project+"\x00"+p.Session+"\x00"+p.Sub...)
	}
}

// below reports whether k lies below prefix p, whose empty fields match all.
func below(k, p transcript.Key) bool {
	return (p.Project == "" || p.Project == k.Project) &&
		(p.Session == "" || p.Session == k.Session) &&
		(p.Sub == "" || p.Sub == k.Sub)
}

func logPrefix(tag byte, log uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 48), tag), log)
}

func entryKey(log, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(logPrefix(tagEntry, log), seq)
}

// uuidKey names an entry by its uuid; one too long for a key goes by its hash.
func uuidKey(log uint64, uuid string) []byte {
	if len(uuid) > 128 {
		sum := sha256.Sum256([]byte(uuid))
		return append(append(logPrefix(tagUUID, log), 1), sum[:]...)
	}
	return append(append(logPrefix(tagUUID, log), 0), uuid...)
}

func readerKey(log uint64, k transcript.Key) []byte {
	return append(logPrefix(tagReader, log), keyBytes(k)...)
}

func wasteKey(log uint64) []byte { return logPrefix(tagWaste, log) }

func blobKey(hash [32]byte, log, seq uint64) []byte {
	b := append(make([]byte, 0, 49), tagBlob)
	b = append(b, hash[:]...)
	b = binary.BigEndian.AppendUint64(b, log)
	return binary.BigEndian.AppendUint64(b, seq)
}

func valueKey(name string) []byte { return append([]byte{tagValue}, name...) }

// keyNumber reads the number at the end of an entry, waste or blob key.
func keyNumber(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// keyLog reads the number of the log in an entry, uuid, reader or waste key.
func keyLog(key []byte) uint64 {
	if len(key) < 9 {
		return 0
	}
	return binary.BigEndian.Uint64(key[1:])
}
