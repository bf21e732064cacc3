package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// listener reads an answer along while it passes: the frames of a stream one by
// one, of which it keeps none, or a whole answer up to a limit.
type listener struct {
	stream bool
	status int
	buf    []byte // of the line or the answer so far
	skip   bool   // the rest of a line that is too long for us
	seen   seen
}

// seen is what an answer says about itself.
type seen struct {
	ID         string
	StopReason string
	Usage      wireUsage
	Stopped    bool
	Error      wireError
}

type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

type wireError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type wireMessage struct {
	ID         string    `json:"id"`
	StopReason string    `json:"stop_reason"`
	Usage      wireUsage `json:"usage"`
}

// maxLine is the longest line of a stream that is looked at. The frames that
// count usage are short; only a delta may be longer.
const maxLine = 1 << 20

func newListener(answer *http.Response) *listener {
	return &listener{status: answer.StatusCode, stream: strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")}
}

// hear takes the next piece of the answer.
func (l *listener) hear(p []byte) {
	if !l.stream {
		if most := l.most(); len(l.buf) < most {
			l.buf = append(l.buf, p[:min(len(p), most-len(l.buf))]...)
		}
		return
	}
	for {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		if !l.skip {
			l.buf = append(l.buf, line...)
		}
		if l.skip = l.skip || len(l.buf) > maxLine; l.skip {
			l.buf = l.buf[:0]
		}
		if !whole {
			return
		}
		if !l.skip {
			l.frame(l.buf)
		}
		l.buf, l.skip, p = l.buf[:0], false, rest
	}
}

// most is how much of an answer that is no stream is kept.
func (l *listener) most() int {
	if l.status >= 400 {
		return maxRead
	}
	return maxBody
}

// frame looks at one line of a stream.
func (l *listener) frame(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok || bytes.Contains(data, []byte(`"content_block_delta"`)) {
		return
	}
	var f struct {
		Type    string      `json:"type"`
		Message wireMessage `json:"message"`
		Delta   struct {
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Usage wireUsage `json:"usage"`
		Error wireError `json:"error"`
	}
	if json.Unmarshal(data, &f) != nil {
		return
	}
	switch f.Type {
	case "message_start":
		l.seen.ID = f.Message.ID
		l.seen.Usage.put(f.Message.Usage)
	case "message_delta":
		l.seen.Usage.put(f.Usage)
		if f.Delta.StopReason != "" {
			l.seen.StopReason = f.Delta.StopReason
		}
	case "message_stop":
		l.seen.Stopped = true
	case "error":
		l.seen.Error = f.Error
	}
}

// put takes over what is given; counts of a stream are cumulative.
func (u *wireUsage) put(v wireUsage) {
	for _, p := range []struct {
		to   **int64
		from *int64
	}{{&u.Input, v.Input}, {&u.Output, v.Output}, {&u.CacheRead, v.CacheRead}, {&u.CacheWrite, v.CacheWrite},
		{&u.Creation.Hour, v.Creation.Hour}} {
		if p.from != nil {
			*p.to = p.from
		}
	}
}

// end tells what was heard.
func (l *listener) end(x *Exchange) {
	if !l.stream {
		l.whole()
	}
	x.MessageID, x.StopReason = l.seen.ID, l.seen.StopReason
	x.Complete = x.Err == nil && l.seen.Stopped && l.seen.StopReason != ""
	x.ErrorType, x.Message = l.seen.Error.Type, l.seen.Error.Message
	u := l.seen.Usage
	x.Usage = Usage{Input: number(u.Input), Output: number(u.Output), CacheRead: number(u.CacheRead),
		CacheWrite: number(u.CacheWrite), CacheWrite1h: number(u.Creation.Hour)}
}

// whole reads an answer that is no stream.
func (l *listener) whole() {
	var m struct {
		wireMessage
		Error wireError `json:"error"`
	}
	if json.Unmarshal(l.buf, &m) != nil {
		if l.status >= 400 {
			l.seen.Error.Message = strings.ToValidUTF8(string(l.buf[:min(len(l.buf), 1000)]), "\uFFFD")
		}
		return
	}
	if l.status >= 400 {
		l.seen.Error = m.Error
		return
	}
	l.seen = seen{ID: m.ID, StopReason: m.StopReason, Usage: m.Usage, Stopped: true}
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
