package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

// keeper is a place for sessions, ours or the anchor.
type keeper interface {
	// append writes entries behind those of the session, all of them or none. last is
	// how many there are.
	append(ctx context.Context, session string, last uint64, es []transcript.Entry) error
	// harden is told before the last append of a turn that everything up to it is to be
	// safe against a power cut when it returns; sync is called behind it.
	harden(ctx context.Context) error
	sync(ctx context.Context) error
	// load reads a session with its headers.
	load(ctx context.Context, session string) ([]transcript.Entry, error)
	close() error
}

func openKeeper(engine, dir string, s syncing) (keeper, error) {
	switch engine {
	case "flower":
		st, err := store.Open(filepath.Join(dir, "sessions"), &store.Options{SyncAlways: s == eachTime})
		return ours{st}, err
	case "sqlite":
		return openSQLite(filepath.Join(dir, "sessions.db"), s)
	}
	return nil, fmt.Errorf("there is no store %q", engine)
}

// ours is flower's store.
type ours struct{ st *store.Store }

func sessionKey(session string) transcript.Key {
	return transcript.Key{Project: "bench", Session: session}
}

func (o ours) append(ctx context.Context, session string, last uint64, es []transcript.Entry) error {
	_, err := o.st.Append(ctx, sessionKey(session), last, es)
	return err
}

func (o ours) harden(context.Context) error   { return nil }
func (o ours) sync(ctx context.Context) error { return o.st.Sync(ctx) }
func (o ours) close() error                   { return o.st.Close() }

func (o ours) load(ctx context.Context, session string) ([]transcript.Entry, error) {
	return transcript.LoadAll(ctx, o.st, sessionKey(session))
}
