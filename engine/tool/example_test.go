package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/flowerlua/flower/engine/tool"
)

func ExampleSet() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	set := tool.NewSet(tool.Options{Workspace: dir, OutputDir: dir})
	defer set.Close()
	tools := map[string]tool.Tool{}
	for _, t := range set.Tools() {
		tools[t.Definition().Name] = t
	}
	for _, call := range []struct{ name, input string }{
		{"Write", `{"file_path": "hello.txt", "content": "hello\nworld\n"}`},
		{"Edit", `{"file_path": "hello.txt", "old_string": "world", "new_string": "flower"}`},
		{"Bash", `{"command": "cat hello.txt; exit 3"}`},
	} {
		r := tools[call.name].Run(context.Background(), tool.Call{Input: json.RawMessage(call.input)})
		fmt.Printf("%s (error: %v)\n", r.Text(), r.IsError)
	}
	// Output:
	// written hello.txt: 2 lines (error: false)
	// edited hello.txt: 1 replacement, line 2 (error: false)
	// exit code 3
	// hello
	// flower (error: true)
}
