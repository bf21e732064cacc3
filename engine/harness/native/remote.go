package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
)

// Bounds of what a server's tool gives and says.
const (
	maxRemoteText   = 4 << 20 // bytes of all texts of a result, before guards see them
	maxRemoteMedia  = 20      // images and documents of a result
	maxRemoteHelp   = 4000    // characters of a description
	maxRemoteName   = 128     // characters, as providers take them
	remoteNameSpare = "_"     // stands for characters that providers do not take
)

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// remote is a tool as the session will know it.
func (s *server) remote(t *mcp.Tool) remote {
	name := "mcp__" + s.name + "__" + notInName.ReplaceAllString(t.Name, remoteNameSpare)
	r := remote{Name: name[:min(len(name), maxRemoteName)], Server: s.name, Tool: t.Name,
		Description: cutText(strings.ToValidUTF8(t.Description, "\uFFFD"), maxRemoteHelp), Schema: remoteSchema(t.InputSchema)}
	r.ReadOnly = t.Annotations != nil && t.Annotations.ReadOnlyHint
	return r
}

// remoteSchema is a schema that providers take: an object, without alternatives at
// its top.
func remoteSchema(schema any) json.RawMessage {
	m, ok := schema.(map[string]any)
	if !ok {
		return json.RawMessage(`{"type":"object"}`)
	}
	for _, name := range []string{"oneOf", "anyOf", "allOf"} {
		delete(m, name)
	}
	m["type"] = "object"
	return encode(m)
}

// remoteTool is a tool of an MCP server, for one thread.
func (r *run) remoteTool(x remote, mode harness.PermissionMode) tool.Tool {
	s := r.servers.list[x.Server]
	return tool.Func{
		Def: tool.Definition{Name: x.Name, Description: x.Description, Schema: x.Schema, ReadOnly: x.ReadOnly},
		Call: func(ctx context.Context, c tool.Call) tool.Result {
			if mode == harness.Plan && !x.ReadOnly {
				return tool.ErrorResult(fmt.Sprintf("In plan mode nothing is changed, and %s does not say of itself that it only reads. Plan without it.", x.Name))
			}
			res, err := s.call(ctx, &mcp.CallToolParams{Name: x.Tool, Arguments: c.Input})
			if err != nil {
				return tool.ErrorResult(s.excuse(x.Name, err))
			}
			return remoteResult(res)
		},
	}
}

// excuse tells the model why a call has no result, and what to do.
func (s *server) excuse(name string, err error) string {
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("The MCP server %s refused this call of %s: %s", s.name, name, refused.Message)
	case errors.Is(err, errUnreachable):
		return fmt.Sprintf("The MCP server %s cannot be reached, so %s was not called: %v. Go on without it, or try again later.", s.name, name, lastLine(err))
	case errors.Is(err, errBroke):
		return fmt.Sprintf("The connection to the MCP server %s broke during this call of %s: %v. It may have taken effect; look before you repeat it. The next call connects anew.", s.name, name, lastLine(err))
	}
	return fmt.Sprintf("%s did not answer within %s and was told to stop. It may have taken effect; look before you repeat it.", name, s.most)
}

// lastLine is the error behind the mark that it was joined to.
func lastLine(err error) string {
	_, text, _ := strings.Cut(err.Error(), "\n")
	return text
}

// remoteResult is a server's result as ours. Texts in a row are one text.
func remoteResult(res *mcp.CallToolResult) tool.Result {
	out := tool.Result{IsError: res.IsError}
	room, media := maxRemoteText, 0
	add := func(s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		if len(s) > room {
			s = strings.ToValidUTF8(s[:room], "") + fmt.Sprintf("\n[%d bytes were left out here]", len(s)-room)
		}
		room = max(0, room-len(s))
		if n := len(out.Content); n > 0 && out.Content[n-1].MediaType == "" {
			out.Content[n-1].Text += "\n" + s
			return
		}
		out.Content = append(out.Content, tool.Content{Text: s})
	}
	show := func(kind string, data []byte) {
		if media++; media > maxRemoteMedia {
			add(fmt.Sprintf("[a further part of type %s was left out: %d are the most]", kind, maxRemoteMedia))
			return
		}
		if kind == "" {
			kind = "application/octet-stream"
		}
		out.Content = append(out.Content, tool.Content{MediaType: kind, Data: data})
	}
	for _, c := range res.Content {
		remotePart(c, add, show)
	}
	if len(res.Content) == 0 && res.StructuredContent != nil {
		add(string(encode(res.StructuredContent)))
	}
	return out
}

// remotePart gives one part of a result to add, texts, or show, all else.
func remotePart(c mcp.Content, add func(string), show func(kind string, data []byte)) {
	switch c := c.(type) {
	case *mcp.TextContent:
		add(c.Text)
	case *mcp.ImageContent:
		show(c.MIMEType, c.Data)
	case *mcp.AudioContent:
		show(c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		add(strings.TrimSpace(fmt.Sprintf("[resource %s: %s] %s", c.Name, c.URI, c.Description)))
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
		case c.Resource.Blob != nil:
			show(c.Resource.MIMEType, c.Resource.Blob)
		default:
			add(c.Resource.Text)
		}
	default:
		add(fmt.Sprintf("[a part of a kind that is not known: %T]", c))
	}
}
