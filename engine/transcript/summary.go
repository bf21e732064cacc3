package transcript

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Summary is one transcript in a few words.
type Summary struct {
	// Title is the transcript's own ("summary" entries; the newest counts), else
	// the beginning of the first thing a person said. One line, 80 characters.
	Title     string
	Model     string // of the last reply
	First     time.Time
	Last      time.Time
	Entries   int
	Prompts   int // what people said
	Turns     int // replies of the model
	ToolCalls int
	Context   int // tokens of the last turn, see LastContext; 0 when not known
}

const maxTitle = 80

// Summarize reads a transcript, as Store.Load gives it, once. The error is that of
// entries; the summary is then of what came before.
func Summarize(entries iter.Seq2[Entry, error]) (Summary, error) {
	var s summarizer
	for e, err := range entries {
		if err != nil {
			return s.done(), err
		}
		s.add(&e)
	}
	return s.done(), nil
}

type summarizer struct {
	Summary
	prompt string
	reply  string // message id of the last reply
	last   Entry  // of the last reply
}

func (s *summarizer) add(e *Entry) {
	s.Entries++
	if !e.Time.IsZero() {
		if s.First.IsZero() {
			s.First = e.Time
		}
		s.Last = e.Time
	}
	switch {
	case e.Type == "summary":
		s.Title = titleOf(lastText(e.Raw, "summary"))
	case e.Flags.Has(APIError):
	case e.Type == "assistant":
		s.addReply(e)
	case e.Type == "user" && len(e.ToolResults) == 0 && e.Flags&(Meta|CompactSummary) == 0:
		s.Prompts++
		if s.prompt == "" {
			s.prompt = titleOf(promptText(e.Raw))
		}
	}
}

func (s *summarizer) addReply(e *Entry) {
	if e.MessageID == "" || e.MessageID != s.reply {
		s.Turns++
	}
	s.reply = e.MessageID
	s.ToolCalls += len(e.ToolUses)
	s.last = *e
}

func (s *summarizer) done() Summary {
	if s.Title == "" {
		s.Title = s.prompt
	}
	if s.last.Raw != nil {
		s.Model, _ = textAt(s.last.Raw, lastField(s.last.Raw, messageOf(s.last.Raw), "model"))
		s.Context, _ = contextOf(&s.last)
	}
	return s.Summary
}

func messageOf(raw []byte) span { return lastField(raw, whole(raw), "message") }

func lastText(raw []byte, key string) string {
	text, _ := textAt(raw, lastField(raw, whole(raw), key))
	return text
}

// promptText is the first text of a message.
func promptText(raw []byte) string {
	content := messageContent(raw)
	if text, ok := textAt(raw, content); ok {
		return text
	}
	for item := range items(raw, content) {
		if text, ok := textAt(raw, textBlock(raw, item)); ok {
			return text
		}
	}
	return ""
}

// titleOf is the beginning of text on one line.
func titleOf(text string) string {
	const enough = 16 * maxTitle // bytes that hold a title whatever the white space
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "")
	}
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxTitle {
		return string(runes[:maxTitle-1]) + "…"
	}
	return string(runes)
}

// LastContext is how many tokens the model saw in the last turn of the thread that
// the entries, the newest of a transcript, are about: its input, what it read from
// the cache and what it wrote there. It is not ok when no reply with accounts is
// among them.
func LastContext(entries []Entry) (tokens int, ok bool) {
	side := !slices.ContainsFunc(entries, func(e Entry) bool { return isMessage(&e) && !e.Flags.Has(Sidechain) })
	return lastContext(entries, side)
}

func lastContext(entries []Entry, side bool) (tokens int, ok bool) {
	for _, e := range slices.Backward(entries) {
		if side || !e.Flags.Has(Sidechain) {
			if tokens, ok = contextOf(&e); ok {
				return tokens, true
			}
		}
	}
	return 0, false
}

// contextOf is the context of the reply that e is part of.
func contextOf(e *Entry) (tokens int, ok bool) {
	if e.Type != "assistant" || e.Flags.Has(APIError) {
		return 0, false
	}
	for f := range fields(e.Raw, lastField(e.Raw, messageOf(e.Raw), "usage")) {
		switch string(f.key) {
		case "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens":
			if n, err := strconv.Atoi(string(f.val.in(e.Raw))); err == nil && n > 0 {
				tokens += n
			}
		}
	}
	return tokens, tokens > 0
}

// LoadAll reads a whole transcript. With an error it gives what came before it.
func LoadAll(ctx context.Context, s Store, key Key) ([]Entry, error) {
	const most = 1 << 16 // to make room for unseen
	var all []Entry
	if head, err := s.Head(ctx, key); err == nil {
		all = make([]Entry, 0, min(head.Last, most))
	}
	for e, err := range s.Load(ctx, key, 0) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// lastWindow is how many entries ReadLastContext reads first.
const lastWindow = 32

// ReadLastContext is LastContext of a transcript in a store. It reads the newest
// entries only, and further ones as long as there is no reply among them.
func ReadLastContext(ctx context.Context, s Store, key Key) (tokens int, ok bool, err error) {
	head, err := s.Head(ctx, key)
	if err != nil {
		return 0, false, err
	}
	to := head.Last
	for n := uint64(lastWindow); to > 0; n *= 2 {
		from := to - min(n, to)
		window, err := readWindow(ctx, s, key, from, to)
		if err != nil {
			return 0, false, err
		}
		if tokens, ok = lastContext(window, key.Sub != ""); ok {
			return tokens, true, nil
		}
		to = from
	}
	return 0, false, nil
}

// readWindow reads the entries behind from, up to to.
func readWindow(ctx context.Context, s Store, key Key, from, to uint64) ([]Entry, error) {
	var window []Entry
	for e, err := range s.Load(ctx, key, from) {
		if err != nil {
			return nil, err
		}
		if e.Seq > to {
			break
		}
		window = append(window, e)
	}
	return window, nil
}
