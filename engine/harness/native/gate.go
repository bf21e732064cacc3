package native

// The content gate: what enters a conversation is such that a provider takes it.
// It is checked once, when a block comes in (admit, mend), and a request as a
// whole is measured before it is sent (fit): an answer of 400 would come back for
// ever, since the same bytes are sent again.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // measures, by which admit decides
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/tool"
)

// What providers take.
const (
	maxImageBytes    = 5 << 20  // of an image in base64
	maxImageSide     = 2000     // pixels; larger ones are refused beside many others
	maxDocumentBytes = 20 << 20 // of a PDF
	maxDocumentPages = 100
	maxBody          = 32 << 20 // of a request, where Config.MaxBody does not say
	maxResultText    = 100_000  // characters of a result, which is our own measure
)

// admit is a tool's piece of content as a block that may enter the conversation.
func admit(c tool.Content) json.RawMessage {
	if c.MediaType == "" {
		return textBlock(resultText(c.Text))
	}
	kind := http.DetectContentType(c.Data)
	switch {
	case kind == "application/pdf":
		return document(c.Data)
	case kind == "image/png", kind == "image/jpeg", kind == "image/gif", kind == "image/webp":
		return picture(kind, c.Data)
	}
	return textBlock(fmt.Sprintf("[%d bytes of type %s were left out: the model takes png, jpeg, gif and webp images and PDF documents]", len(c.Data), c.MediaType))
}

func picture(kind string, data []byte) json.RawMessage {
	size := base64.StdEncoding.EncodedLen(len(data))
	if size > maxImageBytes {
		return textBlock(fmt.Sprintf("[an image of %d bytes was left out: %d bytes are the most; make it smaller]", size, maxImageBytes))
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && max(c.Width, c.Height) > maxImageSide {
		return textBlock(fmt.Sprintf("[an image of %d × %d pixels was left out: %d a side are the most; make it smaller]", c.Width, c.Height, maxImageSide))
	}
	return new(object).str("type", "image").raw("source", source(kind, data)).bytes()
}

func document(data []byte) json.RawMessage {
	if len(data) > maxDocumentBytes {
		return textBlock(fmt.Sprintf("[a PDF of %d bytes was left out: %d are the most; take some of its pages]", len(data), maxDocumentBytes))
	}
	if n := pages(data); n > maxDocumentPages {
		return textBlock(fmt.Sprintf("[a PDF of %d pages was left out: %d are the most; take some of its pages]", n, maxDocumentPages))
	}
	return new(object).str("type", "document").raw("source", source("application/pdf", data)).bytes()
}

func source(kind string, data []byte) json.RawMessage {
	return new(object).str("type", "base64").str("media_type", kind).
		str("data", base64.StdEncoding.EncodeToString(data)).bytes()
}

// pages counts the page objects that a PDF shows openly; those in compressed
// objects are not seen.
func pages(pdf []byte) int {
	n := 0
	for rest := pdf; ; {
		at := bytes.Index(rest, []byte("/Type"))
		if at < 0 {
			return n
		}
		rest = rest[at+len("/Type"):]
		name := bytes.TrimLeft(rest[:min(len(rest), 16)], " \r\n\t")
		if bytes.HasPrefix(name, []byte("/Page")) && !bytes.HasPrefix(name, []byte("/Pages")) {
			n++
		}
	}
}

// resultText is a result's text as it may enter: valid, not empty, not endless.
func resultText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.TrimSpace(s) == "" {
		return "(no output)"
	}
	if len(s) <= maxResultText || utf8.RuneCountInString(s) <= maxResultText {
		return s
	}
	head, tail := cutText(s, maxResultText*3/4), lastText(s, maxResultText/4)
	return fmt.Sprintf("%s\n\n[%d characters were left out here]\n\n%s", head, utf8.RuneCountInString(s)-maxResultText, tail)
}

// cutText is the first n characters of s, lastText the last.
func cutText(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastText(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

// mend makes a stored block valid where it is not: bytes that are no UTF-8 and
// halves of surrogate pairs become U+FFFD. Everything else keeps its bytes.
func mend(raw json.RawMessage) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	var out []byte // made when there is something to mend
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if half(raw[i:]) {
			if pair := i+6 <= len(raw) && first(raw[i:]) && half(raw[i+6:]) && !first(raw[i+6:]); pair {
				i += 11
				continue
			}
			if out == nil {
				out = bytes.Clone(raw)
			}
			copy(out[i:], `\ufffd`)
		}
		i++ // what is escaped
	}
	if out == nil {
		return raw
	}
	return out
}

// half reports whether raw begins with the escape of a surrogate, first whether
// that is the first one of a pair.
func half(raw []byte) bool {
	return len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' && (raw[2]|0x20) == 'd' && strings.IndexByte("89abcdefABCDEF", raw[3]) >= 0
}

func first(raw []byte) bool { return strings.IndexByte("89abAB", raw[3]) >= 0 }

// blank reports whether a JSON string holds nothing but white space.
func blank(raw json.RawMessage) bool {
	if len(raw) > 1 && raw[0] == '"' && raw[1] > ' ' && raw[1] < utf8.RuneSelf && raw[1] != '\\' && raw[1] != '"' {
		return false // most texts, without decoding them
	}
	return strings.TrimSpace(text(raw)) == ""
}

// holdsMedia reports whether the content of a result has an image or document.
func holdsMedia(content json.RawMessage) bool {
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	parts, _ := elements(content)
	for _, p := range parts {
		if kind := text(member(p, "type")); kind == "image" || kind == "document" {
			return true
		}
	}
	return false
}

// leftOut stands where an image or document was.
const leftOut = "[an image or document was left out here to keep the conversation within the provider's limits]"

// withoutMedia is the block with a text in place of images and documents.
func (b block) withoutMedia() block {
	b.media = false
	if b.kind != "tool_result" {
		b.raw, b.kind = textBlock(leftOut), "text"
		return b
	}
	parts, _ := elements(member(b.raw, "content"))
	for i, p := range parts {
		if kind := text(member(p, "type")); kind == "image" || kind == "document" {
			parts[i] = textBlock(leftOut)
		}
	}
	isError := string(member(b.raw, "is_error")) == "true"
	b.raw = resultBlock(b.id, list(parts), isError)
	return b
}
