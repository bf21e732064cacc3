// Command crash kills processes that work with a session store, at random moments
// and as kill -9 does, and looks whether anything is lost that the store had
// acknowledged. It prints a table and ends with 1 if anything was.
//
//	go run ./internal/crash -kills 500
//
// Its nouns: a moment is what the processes were at when they were killed; a child
// is such a process, this program again; a round starts children, kills, and
// examines the store they leave. Nothing is kept of a store that was sound.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// maxStall is how long writers may have to wait when an owner is killed.
const maxStall = 3 * time.Second

func main() {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := work(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	kills := flag.Int("kills", 500, "how many processes are killed, spread over the moments")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the moments; how long things take is not repeated by it")
	flag.Parse()
	if !run(context.Background(), os.Stdout, *kills, *seed) {
		os.Exit(1)
	}
}

// run is the whole suite; ok when nothing was lost.
func run(ctx context.Context, out io.Writer, kills int, seed uint64) (ok bool) {
	fmt.Fprintf(out, "%d kills, seed %d\n\n", kills, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	all := tally{moment: "total"}
	fmt.Fprintf(out, row, "killed at", "kills", "acknowledged", "lost", "opens failed", "slowest open", "longest stall")
	var failures []string
	for i, m := range moments {
		share := kills * (i + 1) / len(moments)
		t := m.rounds(ctx, random, share-kills*i/len(moments))
		t.print(out)
		failures = append(failures, t.failures...)
		all.add(t)
	}
	all.print(out)
	full, bad := diskFull(ctx)
	fmt.Fprintf(out, "\n%s\n", strings.Join(full, "\n"))
	for _, f := range append(failures, bad...) {
		fmt.Fprintf(out, "! %s\n", f)
	}
	return len(failures)+len(bad) == 0
}

// row is a line of the table: lines are printed as they come, for the suite takes
// minutes.
const row = "%-20v %6v %13v %6v %13v %13v %14v\n"

// tally is a line of the table.
type tally struct {
	moment   string
	kills    int
	acked    uint64
	lost     uint64
	unopened int
	open     time.Duration // the slowest
	stall    time.Duration // the longest; 0 where nobody waits for another
	failures []string
}

func (t *tally) add(o tally) {
	t.kills += o.kills
	t.acked += o.acked
	t.lost += o.lost
	t.unopened += o.unopened
	t.open = max(t.open, o.open)
	t.stall = max(t.stall, o.stall)
}

func (t *tally) fail(format string, args ...any) {
	t.failures = append(t.failures, t.moment+": "+fmt.Sprintf(format, args...))
}

func (t *tally) print(w io.Writer) {
	stall := "-"
	if t.stall > 0 {
		stall = t.stall.Round(time.Millisecond).String()
	}
	fmt.Fprintf(w, row, t.moment, t.kills, t.acked, t.lost, t.unopened, t.open.Round(time.Millisecond), stall)
}
