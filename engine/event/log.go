package event

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// levels are the kinds that an operator reads of. What a model said or was told, and
// what tools gave, is not among them.
var levels = map[Kind]slog.Level{
	Step: slog.LevelInfo, Result: slog.LevelInfo, Handoff: slog.LevelInfo, Reset: slog.LevelInfo, Task: slog.LevelInfo,
	System: slog.LevelDebug, Retry: slog.LevelWarn, Error: slog.LevelError,
}

// Log makes a Sink that writes to a logger what an operator wants to know: steps,
// results, handoffs, retries and errors, and at the level of debugging what a harness
// says of itself. Words of the model, prompts, and what tools are called with and give
// are not logged.
func Log(l *slog.Logger) Sink {
	return SinkFunc(func(e Event) {
		level, known := levels[e.Kind]
		if !known || !l.Enabled(context.Background(), level) {
			return
		}
		attrs := []slog.Attr{slog.String("kind", string(e.Kind))}
		for _, a := range []struct{ key, value string }{{"run", e.Run}, {"step", e.Step}, {"session", e.Session}, {"subagent", e.Subagent}, {"tool", e.Tool}} {
			if a.value != "" {
				attrs = append(attrs, slog.String(a.key, a.value))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(e.Payload)) {
			switch v := e.Payload[key].(type) {
			case bool, int, int64, float64:
				attrs = append(attrs, slog.Any(key, v))
			case string:
				attrs = append(attrs, slog.String(key, Cut(v, MaxCallText)))
			}
		}
		text := Cut(e.Text, MaxResultText)
		if text == "" {
			text = string(e.Kind)
		}
		l.LogAttrs(context.Background(), level, text, attrs...)
	})
}
