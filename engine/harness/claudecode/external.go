package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/harness"
)

// external are the agent's MCP servers of which somebody may call a tool.
func (r *run) external() map[string]harness.MCPServer {
	list := map[string]harness.MCPServer{}
	for name, server := range r.turn.Agent.MCPServers {
		if slices.ContainsFunc(r.offered, func(tool string) bool { return strings.HasPrefix(tool, "mcp__"+name+"__") }) {
			list[name] = server
		}
	}
	return list
}

// serversFile lists the servers: headers and variables may be secrets, and
// arguments can be seen by everybody on the machine.
func (r *run) serversFile() string { return filepath.Join(r.temp, "servers.json") }

// writeServers writes the list of servers for the program.
func (r *run) writeServers() error {
	list := r.servers.config()
	for name, s := range r.external() {
		if s.URL != "" {
			http := map[string]any{"type": "http", "url": s.URL}
			if len(s.Headers) > 0 {
				http["headers"] = s.Headers
			}
			list[name] = http
			continue
		}
		// The program hands its own environment down; its token is not for servers.
		env := map[string]string{"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "HOME": r.home()}
		for name, value := range s.Env {
			env[name] = value
		}
		list[name] = map[string]any{"type": "stdio", "command": s.Command, "args": append([]string{}, s.Args...), "env": env}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": list})
	if err != nil {
		return err
	}
	return writeFile(r.serversFile(), raw)
}

// home is the home of what the agent starts.
func (r *run) home() string {
	if own, set := r.turn.Agent.Env["HOME"]; set {
		return own
	}
	if r.h.config.Home != "" {
		return r.h.config.Home
	}
	return os.Getenv("HOME")
}

// page shortens what the main thread sees of a file to the agent's page, and says
// how to go on. line is the number of the text's first line.
func (r *run) page(c guard.Call, value any, line int) any {
	text, ok := value.(string)
	most := r.turn.Agent.PageChars
	if !ok || c.Tool != "Read" || !c.MainThread() || most <= 0 || utf8.RuneCountInString(text) <= most {
		return value
	}
	cut, lines := "", 0
	for l := range strings.Lines(text) {
		if utf8.RuneCountInString(cut)+utf8.RuneCountInString(l) > most && cut != "" {
			break
		}
		cut += l
		lines++
	}
	if runes := []rune(cut); len(runes) > most {
		cut = string(runes[:most]) // one line that is longer than a page
	}
	return strings.TrimSuffix(cut, "\n") + fmt.Sprintf("\n[A page ends here. Read on with offset %d, or look for what you need with Grep.]", line+lines)
}

// How long the program may take to reach the agent's servers before it is given
// the prompt without them.
const (
	serverGrace = 30 * time.Second
	serverLook  = 50 * time.Millisecond
)

// connected returns a channel that is closed when the program has reached the
// agent's servers, or given them up, which an event says. It does not wait for them
// by itself, and would offer their tools too late.
func (c *conversation) connected() <-chan struct{} {
	done := make(chan struct{})
	want := c.external()
	c.link.wait.Go(func() {
		defer close(done)
		for end := time.Now().Add(serverGrace); len(want) > 0; {
			c.lookForServers(want)
			if time.Now().After(end) {
				for name := range want {
					c.say.emit(event.Event{Kind: event.Error, Text: fmt.Sprintf("the MCP server %s did not answer within %s", name, serverGrace)})
				}
				return
			}
			select {
			case <-time.After(serverLook):
			case <-c.link.ctx.Done():
				return
			case <-c.program.ended:
				return
			}
		}
	})
	return done
}

// lookForServers takes those out of want that are there or never will be.
func (c *conversation) lookForServers(want map[string]harness.MCPServer) {
	for _, s := range c.serverStatus() {
		if _, ours := want[s.Name]; !ours || s.Status == "pending" {
			continue
		}
		delete(want, s.Name)
		if s.Status != "connected" {
			c.say.emit(event.Event{Kind: event.Error, Text: fmt.Sprintf("the MCP server %s is not there (%s %s)", s.Name, s.Status, s.Error)})
		}
	}
}

// serverState is what the program says of a server.
type serverState struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error"`
}

func (c *conversation) serverStatus() []serverState {
	var out struct {
		Servers []serverState `json:"mcpServers"`
	}
	select {
	case answer := <-c.link.ask(map[string]any{"subtype": "mcp_status"}):
		_ = lenient(answer.Response, &out) // nothing is known then
	case <-c.link.ctx.Done():
	}
	return out.Servers
}
