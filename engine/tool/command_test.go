package tool_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/tool"
)

func TestCommand_tells_code_signal_and_time_out_apart(t *testing.T) {
	set := tool.NewSet(tool.Options{Workspace: t.TempDir()})
	defer set.Close()
	cases := []struct {
		line string
		want tool.Exit
	}{
		{"echo out; echo err >&2", tool.Exit{Code: 0, Output: "out\nerr\n"}},
		{"exit 3", tool.Exit{Code: 3}},
		{"kill -KILL $$", tool.Exit{Code: -1, Signal: "killed"}},
	}
	for _, c := range cases {
		got, err := set.Command(context.Background(), tool.Command{Line: c.line, Timeout: time.Minute})
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.line, got, err, c.want)
		}
	}
	got, err := set.Command(context.Background(), tool.Command{Line: "echo begun; sleep 60", Timeout: 50 * time.Millisecond})
	if err != nil || !got.TimedOut || got.Code != -1 || !strings.Contains(got.Output, "begun") {
		t.Errorf("time-out: %+v, %v", got, err)
	}
}

func TestCommand_runs_in_its_folder_and_sees_no_secret(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "test-key")
	dir := t.TempDir()
	set := tool.NewSet(tool.Options{Workspace: dir})
	defer set.Close()
	got, err := set.Command(context.Background(), tool.Command{Line: `basename "$PWD"; echo "[$ANTHROPIC_API_KEY]"`})
	if err != nil || got.Output != filepath.Base(dir)+"\n[]\n" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCommand_ends_with_its_context(t *testing.T) {
	set := tool.NewSet(tool.Options{Workspace: t.TempDir()})
	defer set.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	if _, err := set.Command(ctx, tool.Command{Line: "sleep 60"}); !errors.Is(err, stop) {
		t.Errorf("err = %v, want the context's cause", err)
	}
}
