package messagesapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// fingerprint is what a later request is compared with when it asks why the
// cache was missed.
type fingerprint struct {
	model, tools, system digest
	messages             []digest
}

func newFingerprint(r *Request) fingerprint {
	f := fingerprint{model: sha256.Sum256([]byte(r.Model))}
	var tools, system []byte
	for _, t := range r.Tools {
		tools = append(tools, canonical(t.Raw)...)
	}
	for _, b := range r.System {
		system = append(system, canonical(b.Raw)...)
	}
	f.tools, f.system = sha256.Sum256(tools), sha256.Sum256(system)
	for _, m := range r.Messages {
		content := []byte(m.Role)
		for _, b := range m.Content {
			content = append(content, canonical(b.Raw)...)
		}
		f.messages = append(f.messages, sha256.Sum256(content))
	}
	return f
}

// diverges names what of a prompt is not as it was; empty when the newer prompt
// begins with the older one.
func (f fingerprint) diverges(newer fingerprint) string {
	switch {
	case f.model != newer.model:
		return "model_changed"
	case f.tools != newer.tools:
		return "tools_changed"
	case f.system != newer.system:
		return "system_changed"
	}
	for i, m := range f.messages {
		if i >= len(newer.messages) || newer.messages[i] != m {
			return "messages_changed"
		}
	}
	return ""
}

// diagnose answers a request that names the message before it with the reason why
// its prefix could not be reused; nil when there is none or nobody asked.
func (s *Server) diagnose(c *call, id string, plan cachePlan) json.RawMessage {
	if !c.body.diagnose {
		return nil
	}
	now := newFingerprint(&c.seen.Request)
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier := s.prompts.get(c.body.previous)
	s.prompts.add(id, now)
	if c.body.previous == "" {
		return nil
	}
	if len(earlier) == 0 {
		return json.RawMessage(`{"cache_miss_reason":{"type":"previous_message_not_found"}}`)
	}
	reason := earlier[0].diverges(now)
	if reason == "" {
		return nil
	}
	missed := c.seen.Request.Tokens
	if plan.hit >= 0 {
		missed -= plan.units[plan.hit].tokens
	}
	return fmt.Appendf(nil, `{"cache_miss_reason":{"type":%q,"cache_missed_input_tokens":%d}}`, reason, missed)
}
