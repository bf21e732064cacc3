package claudecode

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowerlua/flower/engine/harness"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// efforts are the levels that the program knows.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// modes are the permission modes.
var modes = []harness.PermissionMode{"", harness.Default, harness.AcceptEdits, harness.Plan, harness.BypassPermissions}

// args are the program's arguments. What is long goes over the pipe instead.
func (r *run) args() ([]string, error) {
	a, c := r.turn.Agent, r.h.config
	var tools []string
	for _, name := range r.offered {
		if name = r.names.theirs(name); !strings.HasPrefix(name, "mcp__") {
			tools = append(tools, name)
		}
	}
	args := []string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--session-mirror", "--permission-prompt-tool", "stdio", "--strict-mcp-config",
		"--setting-sources=" + strings.Join(c.SettingSources, ","),
		"--model", r.model, "--tools=" + strings.Join(tools, ",")}
	if r.turn.Session.Resume == "" || r.unsaid {
		args = append(args, "--session-id="+r.session)
	} else {
		args = append(args, "--resume="+r.session)
	}
	if !slices.Contains(modes, a.PermissionMode) {
		return nil, fmt.Errorf("permission_mode is %q; it is one of default, acceptEdits, plan, bypassPermissions", a.PermissionMode)
	}
	// What may run is decided by our hook; plan alone changes what the program says.
	if a.PermissionMode == harness.Plan {
		args = append(args, "--permission-mode", "plan")
	} else {
		args = append(args, "--permission-mode", "default")
	}
	if r.turn.Limits.Turns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(r.turn.Limits.Turns))
	}
	for _, dir := range a.AddDirs {
		args = append(args, "--add-dir="+dir)
	}
	if len(r.servers.offered)+len(r.external()) > 0 {
		args = append(args, "--mcp-config="+r.serversFile())
	}
	return r.effort(args)
}

// effort adds how hard the agent thinks.
func (r *run) effort(args []string) ([]string, error) {
	level := r.turn.Agent.Effort
	if level == "" {
		level = r.h.config.Effort
	}
	tokens, err := strconv.Atoi(level)
	switch {
	case level == "":
	case level == "none":
		args = append(args, "--thinking", "disabled")
	case slices.Contains(efforts, level):
		args = append(args, "--effort", level)
	case err == nil && tokens > 0:
		args = append(args, "--max-thinking-tokens", level)
	default:
		return nil, &harness.FieldError{Field: "effort", Err: fmt.Errorf("is %q; it is one of %s, none, or a number of tokens%s", level,
			strings.Join(efforts, ", "), spell.Hint(level, append([]string{"none"}, efforts...)))}
	}
	return args, nil
}

// initialize is the first request, with what is too long for an argument.
func (r *run) initialize() map[string]any {
	body := map[string]any{"subtype": "initialize", "hooks": r.hooks(), "forwardSubagentText": true}
	a := r.turn.Agent
	var system []string
	for _, part := range []string{a.Instructions, r.index} {
		if strings.TrimSpace(part) != "" {
			system = append(system, part)
		}
	}
	if len(system) > 0 {
		body["appendSystemPrompt"] = strings.Join(system, "\n\n")
	}
	agents := map[string]any{}
	for name, w := range a.Workers {
		agents[name] = r.definition(w)
	}
	if len(agents) > 0 {
		body["agents"] = agents
	}
	return body
}

// definition is a worker as the program takes it.
func (r *run) definition(w harness.Worker) map[string]any {
	tools := []string{}
	for _, name := range toolsOf(w) {
		if !slices.Contains(r.turn.Agent.DisallowedTools, name) && name != agentTool {
			tools = append(tools, r.names.theirs(name))
		}
	}
	prompt := w.Prompt
	if strings.TrimSpace(prompt) == "" {
		prompt = "Do the task you are given."
	}
	d := map[string]any{"description": w.Description, "prompt": prompt, "tools": tools,
		"model": r.h.workerModel(r.turn.Agent, w)}
	if w.MaxTurns > 0 {
		d["maxTurns"] = w.MaxTurns
	}
	if w.Effort != "" {
		d["effort"] = w.Effort
	}
	return d
}

// jobVariable carries the mark that finds what the program has started.
const jobVariable = "FLOWER_JOB"

// keyEnds are the ends of names that look like a provider's key.
var keyEnds = []string{"_API_KEY", "_APIKEY", "_AUTH_TOKEN", "_BEARER_TOKEN", "_BEARER_TOKEN_BEDROCK", "_OAUTH_TOKEN"}

// reserved names are the program's own settings, the engine's, or secrets by the
// embedder's word: nobody else sets them and nothing inherits them.
func (h *Harness) reserved(name string) bool {
	return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || name == "CLAUDECODE" || name == jobVariable ||
		slices.Contains(compactionVariables, name) || slices.Contains(h.config.SecretEnv, name)
}

// likeKey names are not inherited; a spec that wants one names it in its env.
func likeKey(name string) bool {
	return slices.ContainsFunc(keyEnds, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		strings.HasPrefix(name, "OTEL_") && strings.HasSuffix(name, "_HEADERS")
}

// environ is our environment without secrets, and with more.
func (h *Harness) environ(more map[string]string) []string {
	env := map[string]string{}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); !h.reserved(name) && !likeKey(name) {
			env[name] = value
		}
	}
	maps.Copy(env, more)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// environment is that of the program: a home of the run's own, the proxy in place
// of the provider, nothing that phones home.
func (r *run) environment() ([]string, error) {
	env := map[string]string{}
	for name, value := range r.turn.Agent.Env {
		if !r.h.reserved(name) {
			env[name] = value
		}
	}
	shell, err := r.shellFile()
	if err != nil {
		return nil, err
	}
	maps.Copy(env, map[string]string{
		"HOME": filepath.Join(r.temp, "home"), "CLAUDE_CONFIG_DIR": r.config, "CLAUDE_ENV_FILE": shell,
		"ANTHROPIC_BASE_URL": r.proxy.URL(), "ANTHROPIC_API_KEY": r.proxy.Token(),
		"CLAUDE_CODE_ENTRYPOINT": "sdk-go", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
		"DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
		"ENABLE_TOOL_SEARCH":                      "false", // every tool is offered from the start
		"CLAUDE_CODE_MAX_RETRIES":                 strconv.Itoa(max(r.h.config.Retries, 0)),
		"CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1",
		// Its folder would not outlive the turn, and its name would make every
		// process's prompt another one.
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
		"NO_PROXY":                        withLoopback(os.Getenv("NO_PROXY")), "no_proxy": withLoopback(os.Getenv("no_proxy")),
		jobVariable: os.Getenv(jobVariable) + r.mark,
	})
	maps.Copy(env, compaction(r.turn.Agent.Compact))
	if slices.Contains(r.offered, "TodoWrite") {
		env["CLAUDE_CODE_ENABLE_TASKS"] = "0" // the other tools for lists take its place
	}
	if !slices.Contains(r.offered, "BashOutput") {
		env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1" // nobody could ask for the output
	}
	for name, key := range map[string]string{"opus": "OPUS", "sonnet": "SONNET", "haiku": "HAIKU"} {
		if full := r.h.config.Aliases[name]; full != "" {
			env["ANTHROPIC_DEFAULT_"+key+"_MODEL"] = full
		}
	}
	// The program's own skills are offered where no plugin brings others.
	if !slices.Contains(r.offered, tool.SkillTool) || r.names.host[tool.SkillTool] != nil {
		env["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] = "1"
	}
	return r.h.environ(env), nil
}

// keepsAll: the program must not summarise the conversation. Who hands over does
// not, unless the agent is told to.
func (r *run) keepsAll() bool {
	switch r.turn.Agent.Compact.Mode {
	case harness.CompactAuto:
		return false
	case harness.CompactNoSummary, harness.CompactOff:
		return true
	}
	return r.turn.Limits.ContextLine > 0
}

// compactionVariables are the program's switches of its compaction: nobody else's
// environment throws them.
var compactionVariables = []string{"DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"}

// compaction is a policy as the program takes it. Where it is only not to summarise,
// the hook refuses; switched off, the program ends a conversation that is nearly as
// long as the window by itself.
func compaction(c harness.Compaction) map[string]string {
	switch {
	case c.Mode == harness.CompactOff:
		return map[string]string{"DISABLE_AUTO_COMPACT": "1", "DISABLE_COMPACT": "1"}
	case c.Mode == harness.CompactAuto && c.Window > 0:
		return map[string]string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": strconv.FormatInt(c.Window, 10)}
	}
	return nil
}

func withLoopback(list string) string {
	if list == "" {
		return "127.0.0.1"
	}
	return list + ",127.0.0.1"
}

// hidden are the variables of the program that its commands do not get.
var hidden = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "CLAUDE_ENV_FILE", "CLAUDE_CODE_ENTRYPOINT",
	"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS"}

// shellFile writes what the program runs before each command: commands have the
// home of their user, and no token.
func (r *run) shellFile() (string, error) {
	home := r.home()
	text := "unset " + strings.Join(hidden, " ") + "\n"
	if home != "" {
		text += "export HOME='" + strings.ReplaceAll(home, "'", `'\''`) + "'\n"
	}
	path := filepath.Join(r.temp, "commands.sh")
	return path, writeFile(path, []byte(text))
}
