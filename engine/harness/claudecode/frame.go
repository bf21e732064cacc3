package claudecode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// frame is one line of the program's output. What a type of frame does not have
// is zero; what we do not know is not looked at.
type frame struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id"`

	// Of control frames.
	RequestID string   `json:"request_id"`
	Request   request  `json:"request"`
	Response  response `json:"response"`

	// Of messages. Parent is the Agent call that dispatched the speaker.
	Message       json.RawMessage `json:"message"`
	Parent        string          `json:"parent_tool_use_id"`
	ToolUseResult json.RawMessage `json:"tool_use_result"`
	Synthetic     bool            `json:"isSynthetic"`
	Replay        bool            `json:"isReplay"`
	Error         string          `json:"error"` // also of api_retry

	// Of results.
	IsError        bool     `json:"is_error"`
	Result         string   `json:"result"`
	Errors         []string `json:"errors"`
	StopReason     string   `json:"stop_reason"`
	TerminalReason string   `json:"terminal_reason"`
	APIErrorStatus int      `json:"api_error_status"`
	CostUSD        float64  `json:"total_cost_usd"`
	NumTurns       int      `json:"num_turns"`

	// Of system frames.
	Model       string          `json:"model"`
	Version     string          `json:"claude_code_version"`
	Tools       []string        `json:"tools"`
	TaskID      string          `json:"task_id"`
	ToolUseID   string          `json:"tool_use_id"`
	TaskType    string          `json:"task_type"`
	AgentType   string          `json:"subagent_type"`
	Description string          `json:"description"`
	Prompt      string          `json:"prompt"`
	Status      json.RawMessage `json:"status"`
	Summary     string          `json:"summary"`
	Attempt     int             `json:"attempt"`
	MaxRetries  int             `json:"max_retries"`
	RetryDelay  float64         `json:"retry_delay_ms"`
	ErrorStatus int             `json:"error_status"`

	// Of the mirror of transcripts.
	FilePath string            `json:"filePath"`
	Entries  []json.RawMessage `json:"entries"`
}

// request is what the program asks of us.
type request struct {
	Subtype    string          `json:"subtype"`
	CallbackID string          `json:"callback_id"`
	Input      json.RawMessage `json:"input"`
	ToolUseID  string          `json:"tool_use_id"`
	ToolName   string          `json:"tool_name"`
	AgentID    string          `json:"agent_id"`
	ServerName string          `json:"server_name"`
	Message    json.RawMessage `json:"message"`
}

// response is the program's answer to a request of ours.
type response struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response"`
	Error     string          `json:"error"`
}

// message is the message of an assistant or user frame.
type message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"` // a string, or blocks
}

// block is a content block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"` // of a result: a string, or blocks
	IsError   bool            `json:"is_error"`
}

// syntheticModel is the model of messages that the program makes up.
const syntheticModel = "<synthetic>"

// frames reads the program's output line by line. A line may be of any length:
// transcripts and tool results come through the same pipe.
type frames struct{ r *bufio.Reader }

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next frame, passing over lines that are none. The error is
// that of reading; io.EOF at the end. A last line without its end counts.
func (f *frames) next() (frame, error) {
	for {
		line, err := f.r.ReadBytes('\n')
		if fr, ok := parseFrame(line); ok {
			return fr, nil
		}
		if err != nil {
			return frame{}, err
		}
	}
}

// parseFrame reads a whole line. What is no JSON object with a type is no frame.
// Fields of another kind than expected are taken for absent: a newer program must
// not stop us by what we do not need. Text that is no Unicode is mended here,
// where the line is whole and no character is cut in two any more.
func parseFrame(line []byte) (frame, bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return frame{}, false
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	var f frame
	if err := lenient(line, &f); err != nil {
		return frame{}, false
	}
	return f, f.Type != ""
}

// lenient decodes what fits and leaves the rest zero.
func lenient(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return nil
	}
	return err
}

// blocks are a message's content blocks; a string is one block of text.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var raws []json.RawMessage
	if json.Unmarshal(content, &raws) != nil {
		return nil
	}
	list := make([]block, 0, len(raws))
	for _, raw := range raws {
		var b block
		if lenient(raw, &b) == nil {
			list = append(list, b)
		}
	}
	return list
}

// texts are the texts of a content, joined by line ends.
func texts(content json.RawMessage) string {
	var out []byte
	for _, b := range blocks(content) {
		if b.Type != "text" {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, b.Text...)
	}
	return string(out)
}
