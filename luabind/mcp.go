package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine/harness"
)

// readServers reads mcp_servers: tables with a command or a url, by name.
func (s *state) readServers(r *reader) map[string]harness.MCPServer {
	v := r.get("mcp_servers")
	if v == lua.LNil {
		return nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		r.mustBe("mcp_servers", "a table of servers by name", v)
		return nil
	}
	out := map[string]harness.MCPServer{}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		name, okName := k.(lua.LString)
		server, okServer := v.(*lua.LTable)
		if !okName || !okServer {
			r.wrong("mcp_servers", "must hold tables with a command or a url, by name; [%s] is a %s", clip(k.String()), s.describe(v))
			continue
		}
		out[string(name)] = s.readServer(r, string(name), server)
	}
	return out
}

func (s *state) readServer(r *reader, name string, t *lua.LTable) harness.MCPServer {
	before := len(*r.found)
	in := s.reader(s.L, t, r.fieldPath("mcp_servers")+"."+clip(name), r.found)
	server := harness.MCPServer{Command: in.text("command"), Args: in.texts("args"), Env: in.dict("env"),
		URL: in.text("url"), Headers: in.dict("headers")}
	in.finish()
	if field, err := server.Check(name); err != nil && len(*r.found) == before {
		in.wrong(field, "%v", err)
	}
	return server
}
