package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/tools/benchmark/parse"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/guard"
	"github.com/flowerlua/flower/engine/shell"
	"github.com/flowerlua/flower/engine/workbench"
)

// calls are decisions that are made many thousand times in a long run.
func calls(e *env) ([]table, error) {
	t := table{title: "Calls: what is asked again and again", rows: []row{e.gateRow()}}
	budget := e.time(time.Second)
	all, err := e.inProcess()
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		r := row{what: c.what, reach: goal{atMost: duration(c.reach)}}
		if values, err := perCall(c.call, budget); err != nil {
			r.problem = err.Error()
		} else {
			r.got = summarize(values, second)
		}
		t.rows = append(t.rows, r)
	}
	t.notes = append(t.notes, "the gate is measured inside package luabind, where the runner calls it: from the workflow's goroutine to the script's and back")
	return []table{t}, nil
}

// gateRow is a gate in Lua, called from Go with a result and the context.
func (e *env) gateRow() row {
	r := row{what: "gate in Lua", reach: goal{atMost: duration(5 * time.Microsecond)}}
	values, err := e.goBench("./luabind", "BenchmarkGate", 500, 10*e.rounds(2))
	if err != nil {
		r.problem = err.Error()
		return r
	}
	r.got = summarize(values, second)
	return r
}

// goBench runs a benchmark of one of flower's packages, count times with n
// iterations each, and returns the seconds an iteration.
func (e *env) goBench(pkg, name string, n, count int) ([]float64, error) {
	cmd := exec.CommandContext(e.ctx, "go", "test", "-run", "^$", "-bench", "^"+name+"$",
		"-benchtime", fmt.Sprintf("%dx", n), "-count", fmt.Sprint(count), pkg)
	cmd.Dir = e.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test of %s: %w\n%s", pkg, err, bytes.TrimSpace(out))
	}
	set, err := parse.ParseSet(bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("go test of %s: %w", pkg, err)
	}
	var values []float64
	for _, runs := range set {
		for _, b := range runs {
			values = append(values, b.NsPerOp/1e9)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("package %s has no %s", pkg, name)
	}
	return values, nil
}

// call is something to time in this process.
type call struct {
	what  string
	call  func() bool // false: the answer is not the one to time
	reach time.Duration
}

const (
	verdictEnglish = `I checked out the branch, built it and went through the list.

## Conclusion
Not yet achieved: two of the five checks do not hold.

## Reason
The export button is shown, but the file it writes is empty: ` + "`out/2024-01.csv`" + ` has 0 bytes.
The mail check could not be run to its end because of that.

## Not passed
- The export writes one line for each invoice
- The mail has the export attached
`
	verdictChinese = `看了产物,逐条跑过。

## 结论
尚未达成,还差两条。

## 理由
导出按钮有了,但写出的文件是空的:out/2024-01.csv 为 0 字节。

## 未通过
- 导出每张发票一行
- 邮件带上导出文件
`
)

func (e *env) inProcess() ([]call, error) {
	dir, err := e.folder("guards")
	if err != nil {
		return nil, err
	}
	bench, err := workbench.Open("", dir, nil)
	if err != nil {
		return nil, err
	}
	coder := guard.Chain{Guards: guard.Standard(guard.Agent{Name: "coder", AllowedTools: []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep"}}, bench, guard.Options{})}
	lead := guard.Chain{Guards: guard.Standard(guard.Agent{Name: "lead", AllowedTools: []string{"Agent", "Read"}, DelegateOnly: true, Glance: true}, bench, guard.Options{})}
	command := func(line string) guard.Call {
		return guard.Call{ID: "toolu_1", Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q,"description":"A look"}`, line), Dir: dir}
	}
	test, glance := command("go test ./..."), command("git status -s && git log --oneline -5")
	reply := guard.Reply{Value: "ok  \texample.com/invoice\t0.41s\nok  \texample.com/mail\t0.22s\n"}
	ctx := context.Background()
	// Different lines in turn, so that nothing can be remembered from the last call.
	lines := []string{
		"git status -s && echo --- && git log --oneline -5",
		"cat go.mod | grep -n require | head -3",
		"ls -la engine; wc -l engine/*.go; du -sh .",
	}
	next := 0
	verdict := func(text string) func() bool {
		return func() bool { return document.ParseVerdict(text).State == document.NotYet }
	}
	return []call{
		{"guards, before a coder's command", func() bool { return !coder.Before(ctx, test).Denied }, 20 * time.Microsecond},
		{"guards, before a coordinator's glance", func() bool { return !lead.Before(ctx, glance).Denied }, 20 * time.Microsecond},
		{"guards, after a command", func() bool { return !coder.After(ctx, test, reply).IsError }, 20 * time.Microsecond},
		{"shell.Ephemeral, a line of three parts", func() bool { next++; return shell.Ephemeral(lines[next%len(lines)]) }, 10 * time.Microsecond},
		{"document.ParseVerdict, English", verdict(verdictEnglish), 20 * time.Microsecond},
		{"document.ParseVerdict, Chinese", verdict(verdictChinese), 20 * time.Microsecond},
	}, nil
}
