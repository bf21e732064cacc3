package native

import (
	_ "embed" // the prompt texts
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
)

//go:embed prompt/system.md
var systemPrompt string

//go:embed prompt/subagent.md
var subagentPrompt string

// static is the part of the system prompt that all sessions of a role share: it
// names no folder, no time and no state of the machine.
func static(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// environment is what holds for one workspace.
func environment(dir string, addDirs []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Environment\n\nWorking directory: %s\n", dir)
	for _, d := range addDirs {
		fmt.Fprintf(&b, "Further folder you may use: %s\n", d)
	}
	fmt.Fprintf(&b, "Operating system: %s (%s)", runtime.GOOS, runtime.GOARCH)
	return b.String()
}

// systemBlocks are the two blocks of a system prompt. The first ends the part of
// a request that is kept for an hour; the workbench block is the end of the
// second.
func systemBlocks(static, environment, index string) []json.RawMessage {
	first := new(object).str("type", "text").str("text", static).raw("cache_control", []byte(`{"type":"ephemeral","ttl":"1h"}`)).bytes()
	second := environment
	if index != "" {
		second += "\n\n" + index
	}
	return []json.RawMessage{first, textBlock(second)}
}

// What the engine says on its own. These texts are stored like everything else
// the model sees.
const (
	noteEmpty = "Your last message had neither text nor a tool call. If the work is done, say so and give the result; else go on."
	noteCut   = "Your last message reached the limit of its length and was cut off. What was complete has been kept; a tool call that was not is lost. Go on from there in smaller pieces: for a long file, write it in several calls."
	noteFull  = "Your context is nearly full. Do not call any more tools. Write your report now: what is done, where it lies, and what is still open."
	// noteIndex comes before a workbench block that replaces an earlier one.
	noteIndex = "The workbench has changed since you last saw its index. This is the current one:"

	textInterrupted = "The call was interrupted from outside before it was finished; that is no fault of the call or of the environment. It may have taken effect in part: look before you repeat it."
	textNotRun      = "The call was not run: the turn ended before it came to it."
)
