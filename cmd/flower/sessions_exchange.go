package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/internal/atomicfile"
	"github.com/flowerlua/flower/store"
)

// A session in Claude Code's layout:
//
//	<session>.jsonl
//	<session>/subagents/agent-<id>.jsonl
//	<session>/subagents/agent-<id>.meta.json
//
// The meta file is an entry of the subagent's transcript here: its first one, with
// the type below.
const (
	linesSuffix = ".jsonl"
	metaSuffix  = ".meta.json"
	metaType    = "agent_metadata"
	metaMark    = `{"type":"` + metaType + `",`
)

// exportSession writes a session with its subagents.
func (a *app) exportSession(ctx context.Context, c *cli, f *runFolder) error {
	cmd := &c.Sessions.Export
	s, err := f.find(ctx, cmd.Name)
	if err != nil {
		return err
	}
	if cmd.To == "-" {
		p := newPage(a.out)
		return errors.Join(transcript.Export(p, f.db.Load(ctx, s.Key, 0)), p.Flush())
	}
	if info, err := os.Stat(cmd.To); err == nil && !info.IsDir() {
		return wrongUse("export: %s is a file: name a folder, or - for standard output", cmd.To)
	}
	if err := os.MkdirAll(cmd.To, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	main := filepath.Join(cmd.To, s.id()+linesSuffix)
	if _, err := os.Lstat(main); err == nil {
		return fmt.Errorf("export: %s is there already: name another folder", main)
	}
	sub := filepath.Join(cmd.To, s.id())
	for _, info := range s.agents {
		if err := f.exportAgent(ctx, info.Key, filepath.Join(sub, filepath.FromSlash(info.Key.Sub))); err != nil {
			return err
		}
	}
	n, err := f.exportFile(ctx, s.Key, main)
	if err != nil {
		return err
	}
	fmt.Fprintf(a, "%s: %s", shownPath(main), entryCount(n))
	if len(s.agents) > 0 {
		fmt.Fprintf(a, ", %s in %s", count(len(s.agents), "subagent"), shownPath(sub)+string(filepath.Separator))
	}
	fmt.Fprintln(a)
	return nil
}

// exportFile writes the lines of a transcript, all or none, and counts them.
func (f *runFolder) exportFile(ctx context.Context, key transcript.Key, path string) (n uint64, err error) {
	err = writeNew(path, func(w io.Writer) error {
		return transcript.Export(w, func(yield func(transcript.Entry, error) bool) {
			for e, err := range f.db.Load(ctx, key, 0) {
				if err == nil && e.Type == metaType && key.Sub != "" {
					continue
				}
				if err == nil && e.Subtype != transcript.PrefixSubtype {
					n++
				}
				if !yield(e, err) {
					return
				}
			}
		})
	})
	return n, err
}

// exportAgent writes a subagent's lines and, where its kind is known, its meta file.
func (f *runFolder) exportAgent(ctx context.Context, key transcript.Key, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if _, err := f.exportFile(ctx, key, path+linesSuffix); err != nil {
		return err
	}
	var meta []byte
	for e, err := range f.db.Load(ctx, key, 0) {
		if err != nil {
			return err
		}
		if e.Type == metaType {
			meta = metaFile(e.Raw)
		}
		if kind := contentOf(&e).Agent.Type; e.Subtype == transcript.PrefixSubtype && kind != "" && meta == nil {
			raw, err := json.Marshal(map[string]string{"agentType": kind})
			if err != nil {
				return err
			}
			meta = raw
		}
	}
	if meta == nil {
		return nil
	}
	return writeNew(path+metaSuffix, func(w io.Writer) error {
		_, err := w.Write(meta)
		return err
	})
}

// metaFile is the entry without its type, and otherwise byte for byte where we have
// put the type in ourselves.
func metaFile(raw []byte) []byte {
	if rest, ok := bytes.CutPrefix(raw, []byte(metaMark)); ok {
		return append([]byte("{"), rest...)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	delete(fields, "type")
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// metaEntry is the content of a meta file as an entry.
func metaEntry(raw []byte) (transcript.Entry, error) {
	var one bytes.Buffer
	if err := json.Compact(&one, raw); err != nil {
		return transcript.Entry{}, err
	}
	if bytes.ContainsAny(raw, "\n\r") || !bytes.HasPrefix(raw, []byte("{")) {
		raw = one.Bytes()
	}
	if one.Len() < 3 {
		return transcript.Parse([]byte(`{"type":"` + metaType + `"}`))
	}
	return transcript.Parse(append([]byte(metaMark), bytes.TrimPrefix(raw, []byte("{"))...))
}

// writeNew makes a file that must not exist yet; it is whole or not there.
func writeNew(path string, fill func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already: name another place", path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // it has another name or is not wanted
	p := newPage(tmp)
	if err := errors.Join(fill(p), p.Flush(), tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// imported is one transcript to be taken in.
type imported struct {
	key     transcript.Key
	path    string
	entries []transcript.Entry
}

// importSession reads a session's files into the run directory, which may be new.
// Everything is read before anything is written.
func (a *app) importSession(ctx context.Context, c *cli) error {
	cmd := &c.Sessions.Import
	base, ok := strings.CutSuffix(cmd.File, linesSuffix)
	if !ok {
		return wrongUse("import takes a file <session>%s, not %s", linesSuffix, cmd.File)
	}
	if err := checkInput("import", cmd.File, linesSuffix); err != nil {
		return err
	}
	id := cmp.Or(cmd.As, filepath.Base(base))
	if strings.ContainsAny(id, "/\\\x00\n") || strings.HasPrefix(id, ".") || len(id) > 128 {
		return wrongUse("%q cannot be a session's id: name another with --as", id)
	}
	parts, err := a.readParts(base, id)
	if err != nil {
		return err
	}
	added, err := storeParts(ctx, c, parts)
	if err != nil {
		return err
	}
	fmt.Fprintf(a, "session %s: %s", id, entryCount(uint64(len(parts[0].entries))))
	if len(parts) > 1 {
		fmt.Fprintf(a, ", %s", count(len(parts)-1, "subagent"))
	}
	if added == 0 {
		fmt.Fprint(a, ", all there already")
	}
	fmt.Fprintln(a)
	return nil
}

// storeParts takes what was read into the store and counts what is new.
func storeParts(ctx context.Context, c *cli, parts []imported) (added uint64, err error) {
	_, dir, err := c.places()
	if err != nil {
		return 0, err
	}
	project, err := ensureProject(dir)
	if err != nil {
		return 0, err
	}
	db, err := store.Open(filepath.Join(dir, "sessions"), &store.Options{GCEvery: -1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, part := range parts {
		part.key.Project = project
		n, err := takeIn(ctx, db, part)
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, db.Sync(ctx)
}

// readParts are the main thread and the subagents of a session. What is wrong with
// a file is told on standard error; the rest of it counts.
func (a *app) readParts(base, id string) ([]imported, error) {
	main := imported{key: transcript.Key{Session: id}, path: base + linesSuffix}
	agents, err := filepath.Glob(filepath.Join(globQuote(base), "subagents", "agent-*"+linesSuffix))
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	parts := []imported{main}
	for _, path := range agents {
		name := strings.TrimSuffix(filepath.Base(path), linesSuffix)
		parts = append(parts, imported{key: main.key.Subagent(strings.TrimPrefix(name, "agent-")), path: path})
	}
	for i := range parts {
		if err := a.readPart(&parts[i]); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (a *app) readPart(part *imported) error {
	file, err := os.Open(part.path)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer file.Close()
	entries, report, err := transcript.Import(file, nil)
	if err != nil {
		return fmt.Errorf("import %s: %w", part.path, err)
	}
	if len(report.Problems) > 0 {
		fmt.Fprintf(a.err, "%s: %s\n", part.path, clean(report.String()))
		for _, p := range report.Problems[:min(len(report.Problems), 10)] {
			fmt.Fprintf(a.err, "  %s\n", oneLine(p.String()))
		}
	}
	if len(entries) == 0 && part.key.Sub == "" {
		return fmt.Errorf("import: %s holds no transcript", part.path)
	}
	meta, err := os.ReadFile(strings.TrimSuffix(part.path, linesSuffix) + metaSuffix)
	if err == nil && part.key.Sub != "" {
		e, err := metaEntry(bytes.TrimSpace(meta))
		if err != nil {
			fmt.Fprintf(a.err, "%s: the meta file is left out: %v\n", part.path, err)
		} else {
			entries = append([]transcript.Entry{e}, entries...)
		}
	}
	part.entries = entries
	return nil
}

// takeIn stores a transcript. One that is there already is continued when the file
// begins with it, line by line, and is left alone otherwise.
func takeIn(ctx context.Context, db *store.Store, part imported) (added uint64, err error) {
	have, last, err := stored(ctx, db, part.key)
	if err != nil {
		return 0, err
	}
	file := make([][sha256.Size]byte, len(part.entries))
	for i, e := range part.entries {
		file[i] = sha256.Sum256(e.Raw)
	}
	if len(have) > len(file) || !slices.Equal(have, file[:len(have)]) {
		return 0, fmt.Errorf("import: session %s is there already, with something else in it: keep this one under another id with --as", part.key)
	}
	fresh := part.entries[len(have):]
	if len(fresh) == 0 {
		return 0, nil
	}
	if _, err := db.Append(ctx, part.key, last, fresh); err != nil {
		return 0, fmt.Errorf("import %s: %w", part.path, err)
	}
	return uint64(len(fresh)), nil
}

// stored are the lines of a transcript as an export would write them, and the place
// of its newest entry.
func stored(ctx context.Context, db *store.Store, key transcript.Key) (lines [][sha256.Size]byte, last uint64, err error) {
	var hashes lineHashes
	err = transcript.Export(&hashes, func(yield func(transcript.Entry, error) bool) {
		for e, err := range db.Load(ctx, key, 0) {
			last = max(last, e.Seq)
			if !yield(e, err) {
				return
			}
		}
	})
	if errors.Is(err, transcript.ErrNotFound) {
		return nil, 0, nil
	}
	return hashes.lines, last, err
}

// lineHashes stand for the lines of a transcript, which may be longer than we want
// to keep twice.
type lineHashes struct {
	lines [][sha256.Size]byte
	open  hash.Hash // of the line that has begun
}

// Write takes lines in pieces of any size.
func (l *lineHashes) Write(p []byte) (int, error) {
	if l.open == nil {
		l.open = sha256.New()
	}
	for piece := range bytes.Lines(p) {
		line, whole := bytes.CutSuffix(piece, []byte("\n"))
		l.open.Write(line)
		if whole {
			l.lines = append(l.lines, [sha256.Size]byte(l.open.Sum(nil)))
			l.open.Reset()
		}
	}
	return len(p), nil
}

// ensureProject is the id of the run directory, which is made where there is none.
func ensureProject(dir string) (id string, err error) {
	if err := makeRunDir(dir); err != nil {
		return "", err
	}
	err = atomicfile.Update(filepath.Join(dir, "id"), 0o644, func(old []byte) ([]byte, error) {
		if id = strings.TrimSpace(string(old)); id != "" {
			return nil, nil
		}
		raw := make([]byte, 8)
		if _, err := rand.Read(raw); err != nil {
			return nil, err
		}
		id = hex.EncodeToString(raw)
		return []byte(id + "\n"), nil
	})
	return id, err
}

// makeRunDir makes a run directory that git leaves alone.
func makeRunDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return atomicfile.Write(ignore, []byte("*\n"), 0o644)
}
