package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/flowerlua/flower/engine/transcript"
)

// lite is the anchor: sessions in SQLite, an entry a row, as a program keeps them that
// has nothing but the usual libraries. The indexes do what our store does: they fence a
// second writer off and keep an entry from being written twice.
type lite struct {
	db     *sql.DB
	insert *sql.Stmt
	normal bool // a commit is not synced unless harden was called
}

const schema = `CREATE TABLE IF NOT EXISTS entries (
	id INTEGER PRIMARY KEY,
	session TEXT NOT NULL,
	seq INTEGER NOT NULL,
	uuid TEXT NOT NULL,
	raw BLOB NOT NULL,
	UNIQUE (session, seq),
	UNIQUE (session, uuid)
)`

func openSQLite(path string, s syncing) (*lite, error) {
	level := "NORMAL"
	if s == eachTime {
		level = "FULL"
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+level+")&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	// One connection: SQLite has one writer at a time, and who waits in Go waits
	// shorter than who asks the file's lock again and again.
	db.SetMaxOpenConns(1)
	l := &lite{db: db, normal: level == "NORMAL"}
	if _, err = db.Exec(schema); err == nil {
		l.insert, err = db.Prepare("INSERT INTO entries (session, seq, uuid, raw) VALUES (?, ?, ?, ?)")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

func (l *lite) append(ctx context.Context, session string, last uint64, es []transcript.Entry) error {
	if len(es) == 1 {
		_, err := l.insert.ExecContext(ctx, session, last+1, es[0].UUID, []byte(es[0].Raw))
		return err
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert := tx.StmtContext(ctx, l.insert)
	for i, e := range es {
		if _, err := insert.ExecContext(ctx, session, last+uint64(i)+1, e.UUID, []byte(e.Raw)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// harden makes the next commit a synced one. Its sync covers the commits before it,
// which stand before it in the log.
func (l *lite) harden(ctx context.Context) error {
	if !l.normal {
		return nil
	}
	_, err := l.db.ExecContext(ctx, "PRAGMA synchronous=FULL")
	return err
}

// sync has nothing left to do but to go back to commits that are not synced.
func (l *lite) sync(ctx context.Context) error {
	if !l.normal {
		return nil
	}
	_, err := l.db.ExecContext(ctx, "PRAGMA synchronous=NORMAL")
	return err
}

func (l *lite) close() error { return errors.Join(l.insert.Close(), l.db.Close()) }

// load parses every entry whole, which is how a program without headers of its own
// learns what is in it.
func (l *lite) load(ctx context.Context, session string) (all []transcript.Entry, err error) {
	rows, err := l.db.QueryContext(ctx, "SELECT seq, raw FROM entries WHERE session = ? ORDER BY seq", session)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq uint64
		var raw []byte
		if err := rows.Scan(&seq, &raw); err != nil {
			return nil, err
		}
		e, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", seq, err)
		}
		e.Seq = seq
		all = append(all, e)
	}
	return all, rows.Err()
}

// line is an entry as encoding/json reads it.
type line struct {
	UUID              string    `json:"uuid"`
	ParentUUID        *string   `json:"parentUuid"`
	Type              string    `json:"type"`
	Subtype           string    `json:"subtype"`
	Timestamp         time.Time `json:"timestamp"`
	IsMeta            bool      `json:"isMeta"`
	IsSidechain       bool      `json:"isSidechain"`
	IsAPIErrorMessage bool      `json:"isApiErrorMessage"`
	IsCompactSummary  bool      `json:"isCompactSummary"`
	ToolDenialKind    string    `json:"toolDenialKind"`
	Message           struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content any    `json:"content"` // a string or a list of blocks
	} `json:"message"`
}

// decode makes an entry with encoding/json, with the header that transcript.Parse
// makes of it.
func decode(raw []byte) (transcript.Entry, error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return transcript.Entry{}, err
	}
	h := transcript.Header{UUID: l.UUID, Type: l.Type, Subtype: l.Subtype, Role: l.Message.Role, MessageID: l.Message.ID, Time: l.Timestamp, Size: len(raw)}
	if l.ParentUUID != nil {
		h.Parent = *l.ParentUUID
	}
	h.Flags = mark(l.IsMeta, transcript.Meta) | mark(l.IsSidechain, transcript.Sidechain) | mark(l.IsAPIErrorMessage, transcript.APIError) |
		mark(l.IsCompactSummary, transcript.CompactSummary) | mark(l.ToolDenialKind != "", transcript.Denied)
	blocks, _ := l.Message.Content.([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		switch block["type"] {
		case "tool_use":
			id, _ := block["id"].(string)
			h.ToolUses = append(h.ToolUses, id)
		case "tool_result":
			id, _ := block["tool_use_id"].(string)
			h.ToolResults = append(h.ToolResults, id)
			if block["is_error"] == true {
				h.Flags |= transcript.ErrorResult
			}
		}
	}
	return transcript.Entry{Header: h, Raw: raw}, nil
}

func mark(set bool, flag transcript.Flags) transcript.Flags {
	if set {
		return flag
	}
	return 0
}
