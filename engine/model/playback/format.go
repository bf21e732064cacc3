package playback

// The files of a recording. docs/files.md describes them for readers.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/internal/atomicfile"
)

const (
	format    = 1
	indexName = "recording.json"
	lockName  = ".lock"
	// maxLine bounds what is read of a file at a time: a request has 32 MiB at most,
	// and its answer far less.
	maxLine = 256 << 20
)

// index is the file recording.json: what holds for all conversations.
type index struct {
	Format    int                  `json:"format"`
	Label     string               `json:"label,omitempty"`
	Settings  map[string]string    `json:"settings,omitempty"`
	Models    map[string]modelInfo `json:"models,omitempty"`
	Processes []process            `json:"processes"`
}

// modelInfo is what was known of a model, but for its price.
type modelInfo struct {
	Window    int64 `json:"window,omitempty"`
	MaxOutput int   `json:"max_output,omitempty"`
}

// process is one run of the program that wrote into the recording.
type process struct {
	Started  time.Time         `json:"started"`
	Places   map[string]string `json:"places,omitempty"`
	Finished bool              `json:"finished"` // it came to its end
}

// header is the first line of a conversation's file, written when it begins.
type header struct {
	Conversation int    `json:"conversation"`
	Process      int    `json:"process"` // counted from 1
	Step         string `json:"step"`
	Role         string `json:"role"`
	Session      string `json:"session"`
	Agent        string `json:"agent,omitempty"`
	Call         string `json:"call,omitempty"`
	Parent       int    `json:"parent,omitempty"` // the conversation it belongs to
	Dir          string `json:"dir,omitempty"`
}

// exchange is every further line: a request, as what it does not share with the one
// before it, and what came of it.
type exchange struct {
	Exchange int       `json:"exchange"` // counted from 1
	Process  int       `json:"process"`
	Time     time.Time `json:"time"` // of the request
	Took     float64   `json:"took_s"`
	Step     string    `json:"step"`
	Turn     int       `json:"turn"`
	// Head is the request without its messages; left out where it is that of the
	// exchange before.
	Head json.RawMessage `json:"head,omitempty"`
	// Keep is how many messages are those of the exchange before; Messages follow them.
	Keep     int               `json:"keep"`
	Messages []json.RawMessage `json:"messages"`
	Reply    *reply            `json:"reply,omitempty"`
	Error    *replyError       `json:"error,omitempty"`
}

// stopped: the caller ended the exchange before it was over, so it is none to play.
func (x *exchange) stopped() bool { return x.Error != nil && x.Error.Kind == kindStopped }

// encode is v as one line of JSON, without the escapes that HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// readIndex is nil and no error where there is none.
func readIndex(dir string) (*index, error) {
	raw, err := os.ReadFile(filepath.Join(dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var x index
	if err := json.Unmarshal(raw, &x); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir, indexName), err)
	}
	if x.Format != format {
		return nil, fmt.Errorf("%s has the format %d, and this program knows format %d: play it with the program that recorded it, or record anew",
			filepath.Join(dir, indexName), x.Format, format)
	}
	return &x, nil
}

func (x *index) write(dir string) error {
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, indexName), append(raw, '\n'), 0o600)
}

// finished: the last run that wrote into the recording came to its end.
func (x *index) finished() bool {
	n := len(x.Processes)
	return n > 0 && x.Processes[n-1].Finished
}

var conversationName = regexp.MustCompile(`^\d{4,}-.*\.jsonl$`)

// conversationFiles are the names of the conversations' files, in their order.
func conversationFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && conversationName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(number(a)), len(number(b))), cmp.Compare(a, b))
	})
	return names, nil
}

func number(name string) string {
	digits, _, _ := strings.Cut(name, "-")
	return digits
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// fileName tells a person which conversation a file holds; its number alone makes it
// unique.
func (h header) fileName() string {
	words := h.Step
	if h.Role != h.Step {
		words += "-" + h.Role
	}
	if h.Call != "" {
		words += "-aside"
	}
	words = unfit.ReplaceAllString(words, "-")
	return fmt.Sprintf("%04d-%s.jsonl", h.Conversation, strings.Trim(words[:min(len(words), 60)], "-"))
}

// eachLine calls visit with every whole line of a file, its number and where it
// begins. whole is how many bytes of the file whole lines are: less than the file has
// where the last line was cut off while it was written.
func eachLine(path string, visit func(line []byte, n int, at int64) error) (whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
		if err := visit(line, n, whole); err != nil {
			return whole, err
		}
		whole += int64(len(line)) + 1
	}
}

// readLine reads one line without its end; io.EOF where none is whole.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
	}
}

// errGap: a line is missing before this one.
var errGap = errors.New("it continues a request that is not there")

// damaged names the line that cannot be read.
func damaged(path string, line int, err error) error {
	return fmt.Errorf("%w: %s, line %d: %w", ErrDamaged, path, line, err)
}
