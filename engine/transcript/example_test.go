package transcript_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/flowerlua/flower/engine/transcript"
)

// A session is opened: what a crash cut off is repaired, and the view is made.
func Example() {
	file := `{"uuid":"1","parentUuid":null,"type":"user","message":{"role":"user","content":"Fix the test."}}
{"uuid":"2","parentUuid":"1","type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"git status"}}]}}
{"uuid":"3","parentUuid":"2","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"nothing to commit"}]}}
{"uuid":"4","parentUuid":"3","type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make"}}]}}
`
	entries, found, err := transcript.Import(strings.NewReader(file), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found)

	appended, _ := transcript.Repair(entries, transcript.RepairOptions{Text: "The process ended here."})
	entries = append(entries, appended...) // and to the store
	live, err := transcript.Live(entries, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	view, report := transcript.View(live, transcript.Policy{
		Expire: transcript.ExpirePolicy{Enabled: true, Text: "[{cmd} is {age} looks old]"},
		Prune:  transcript.PrunePolicy{DropAPIErrors: true, HealOrphans: true, KeepDenials: 1},
	})
	fmt.Println(report.Expired, "expired,", report.Healed, "healed")
	os.Stdout.Write(view[2].Raw)

	// Output:
	// 4 of 4 lines loaded
	// 1 expired, 0 healed
	// {"uuid":"3","parentUuid":"2","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"[`git status` is 1 looks old]"}]}}
}
