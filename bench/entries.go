package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// entrySize is the size of the entries that appends are measured with.
const entrySize = 2048

// maker makes entries of entrySize bytes that differ in their uuid. It is quick
// enough to make them while appends are timed.
type maker struct {
	template transcript.Entry
	at       int // of the digits that change
	made     uint64
}

func newMaker() (*maker, error) {
	const head = `{"uuid":"0190a5c2-7f3e-7c44-9b1d-000000000000","type":"user","message":{"role":"user","content":"`
	const tail = `"}}`
	text := strings.Repeat("0123456789", entrySize/10+1)[:entrySize-len(head)-len(tail)]
	e, err := transcript.Parse([]byte(head + text + tail))
	return &maker{template: e, at: strings.Index(head, "000000000000")}, err
}

// next makes n entries.
func (m *maker) next(n int) []transcript.Entry {
	all := make([]transcript.Entry, n)
	for i := range all {
		e := m.template
		e.Raw = slices.Clone(e.Raw)
		for place, rest := m.at+11, m.made; rest > 0; place, rest = place-1, rest/10 {
			e.Raw[place] = byte('0' + rest%10)
		}
		e.UUID = string(e.Raw[m.at-24 : m.at+12])
		m.made++
		all[i] = e
	}
	return all
}

// commands are of both kinds: some whose results go stale, some whose results stay.
var commands = []string{
	"git status -s && git log --oneline -5", "ls -la engine", "go test ./engine/...", "make check", "grep -rn View engine | head -20",
}

// conversation makes the first n entries of a session as a long run leaves it: replies
// with thinking, words and a call, then the call's result, short or long; now and then
// a denial, a failed request, a prompt. They are of 2 KiB on average.
func conversation(n int) ([]transcript.Entry, error) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := make([]transcript.Entry, 0, n)
	parent := "null"
	for i := range n {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		line := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/me/project","sessionId":"00000000-0000-4000-8000-000000000000",`+
			`"version":"1","gitBranch":"trunk",%s,"uuid":%q,"timestamp":%q}`, parent, said(i), uuid, begin.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano))
		e, err := transcript.Parse([]byte(line))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		parent = `"` + uuid + `"`
	}
	return all, nil
}

// said are the fields of entry i that tell what it is.
func said(i int) string {
	turn, reply := i/2, i%2 == 0
	switch {
	case reply && turn%40 == 39:
		return `"type":"assistant","isApiErrorMessage":true,"message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}`
	case turn%40 == 39:
		return `"type":"user","message":{"role":"user","content":"Go on with what is left of the task."}`
	case reply:
		return fmt.Sprintf(`"type":"assistant","requestId":"req_%d","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[`+
			`{"type":"thinking","thinking":%q,"signature":%q},{"type":"text","text":"Let me look."},`+
			`{"type":"tool_use","id":"toolu_%08d","name":"Bash","input":{"command":%q,"description":"look %d"}}],`+
			`"usage":{"input_tokens":4,"cache_read_input_tokens":%d,"cache_creation_input_tokens":900,"output_tokens":120}}`,
			i, i, strings.Repeat("What is there to do? ", 30), strings.Repeat("c2lnbmF0dXJl", 50), turn, commands[turn%len(commands)], i, 1000*turn)
	}
	size := []int{80, 400, 2500, 1200, 6000}[turn%5]
	fields := fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%08d","type":"tool_result","content":%q,"is_error":%v}]},"toolUseResult":{"stdout":"…"}`,
		turn, strings.Repeat("line of output\n", size/15), turn%50 == 7)
	if turn%50 == 7 {
		fields += `,"toolDenialKind":"permission-rule"`
	}
	return fields
}
