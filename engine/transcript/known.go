package transcript

// knownTypes are the types of entries that Claude Code and we write.
var knownTypes = []string{
	"user", "assistant", "system", "summary", "attachment", "progress", "queue-operation", "last-prompt", "mode",
	"agent_metadata", "file-history-snapshot", "custom-title", "ai-title", "tag", "agent-name", "pr-link",
}
