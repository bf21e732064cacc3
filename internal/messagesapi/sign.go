package messagesapi

// Thinking blocks carry a signature by which the provider knows them again. Ours
// is a keyed hash of the text, so a server also knows what an earlier one signed;
// which thinking belongs to which turn is remembered by this server alone.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// signingKey keeps nobody out; it only makes signatures that nobody hits on by
// chance.
const signingKey = "github.com/flowerlua/flower/internal/messagesapi"

func mac(kind, text string) string {
	h := hmac.New(sha256.New, []byte(signingKey))
	h.Write([]byte(kind + "\x00" + text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// sign fills in what only the server may make of a thinking block.
func sign(b *Block) {
	switch b.Type {
	case "thinking":
		b.Signature = mac(b.Type, b.Thinking)
	case "redacted_thinking":
		b.Signature = mac(b.Type, b.Thinking) + "." + base64.StdEncoding.EncodeToString([]byte(b.Thinking))
	}
}

// genuine tells whether a thinking block of a request was signed by a server.
func genuine(b Block) bool {
	if b.Type == "thinking" {
		return hmac.Equal([]byte(b.Signature), []byte(mac(b.Type, b.Thinking)))
	}
	sum, hidden, _ := strings.Cut(b.Signature, ".")
	text, err := base64.StdEncoding.DecodeString(hidden)
	return err == nil && hmac.Equal([]byte(sum), []byte(mac(b.Type, string(text))))
}

func isThinking(b Block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// turnKey finds an assistant turn again, whatever became of its thinking.
func turnKey(blocks []Block) string {
	h := sha256.New()
	for _, b := range blocks {
		if b.Type == "tool_use" && b.ID != "" {
			return b.ID
		}
		if !isThinking(b) {
			h.Write(canonical(b.Raw))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// thinkingDigest stands for the thinking of a turn and where it stands in it.
func thinkingDigest(blocks []Block) string {
	h := sha256.New()
	for i, b := range blocks {
		if isThinking(b) {
			h.Write([]byte{byte(i), byte(i >> 8)})
			h.Write([]byte(b.Type + "\x00" + b.Signature + "\x00")) // which stands for the text, too
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// contentDigest stands for the whole content of a turn.
func contentDigest(blocks []Block) string {
	h := sha256.New()
	for _, b := range blocks {
		h.Write(canonical(b.Raw))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// remember keeps what later requests are checked against.
func (s *Server) remember(blocks []Block, stopReason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thoughts.add(turnKey(blocks), thinkingDigest(blocks))
	if stopReason == "pause_turn" {
		s.paused.add(contentDigest(blocks), struct{}{})
	}
}

// wasPaused tells whether an assistant message is one that the client was asked
// to send back.
func (s *Server) wasPaused(m Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused.get(contentDigest(m.Content)) != nil
}

// checkThinking refuses thinking that no server made and, in the latest
// assistant message, thinking that is not what it was.
func (s *Server) checkThinking(r *Request, p *parsedBody) error {
	latest := -1
	for i, m := range r.Messages {
		if m.Role == "assistant" {
			latest = i
		}
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if !isThinking(b) || genuine(b) {
				continue
			}
			if i == latest {
				return thinkingChanged(i, j)
			}
			part := "signature"
			if b.Type == "redacted_thinking" {
				part = "data"
			}
			return invalid("messages.%d.content.%d: Invalid `%s` in `%s` block", i, j, part, b.Type)
		}
	}
	if latest < 0 || p.thinkingOff() {
		return nil
	}
	content := r.Messages[latest].Content
	s.mu.Lock()
	sent := s.thoughts.get(turnKey(content))
	s.mu.Unlock()
	got := thinkingDigest(content)
	for _, digest := range sent {
		if digest == got {
			return nil
		}
	}
	if len(sent) > 0 {
		return thinkingChanged(latest, 0)
	}
	return nil
}

func thinkingChanged(message, block int) error {
	return invalid("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "+
		"These blocks must remain as they were in the original response.", message, block)
}
