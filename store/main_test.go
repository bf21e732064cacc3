package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
	"github.com/flowerlua/flower/store/storetest"
)

// The tests start this program again as another process, which then does one of
// these things with the store in the folder it is given.
var childWork = map[string]func(st *store.Store, session string) error{
	"append": func(st *store.Store, session string) error { return writeForEver(st, session, 1, 0) },
	"rotate": func(st *store.Store, session string) error { return writeForEver(st, session, 50, 900) },
	"gc":     collectForEver,
	"hold":   func(*store.Store, string) error { select {} },
	"fill":   func(st *store.Store, _ string) error { return fill(st, false) },
	"turned": func(st *store.Store, _ string) error { return fill(st, true) },
}

const childEnv = "FLOWER_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := runChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runChild(spec string) error {
	part := strings.SplitN(spec, " ", 3)
	st, err := store.Open(part[2], &store.Options{GCEvery: -1})
	if err != nil {
		return err
	}
	fmt.Println("open")
	return errors.Join(childWork[part[0]](st, part[1]), st.Close())
}

// child is another process that works with a store and tells what the store told it.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
	told  []string
}

// spawn starts a process.
func spawn(t testing.TB, work, session, dir string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1<<16)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+work+" "+session+" "+dir)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// hear waits for the next line.
func (c *child) hear() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the process ended")
		}
		c.told = append(c.told, line)
		return line
	case <-time.After(60 * time.Second):
		c.t.Fatal("the process says nothing")
	}
	return ""
}

// kill ends the process as kill -9 does, and takes all that it said.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	for line := range c.lines {
		c.told = append(c.told, line)
	}
	_ = c.cmd.Wait()
}

// pause stops the process until it gets SIGCONT, and returns when it stands still.
func (c *child) pause() {
	c.t.Helper()
	pid := c.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		c.t.Fatalf("it did not stop: %v, %v", status, err)
	}
}

// acked is the newest entry of session that was acknowledged to the process.
func (c *child) acked(session string) (last uint64) {
	for _, line := range c.told {
		if n, ok := strings.CutPrefix(line, session+" "); ok {
			v, err := strconv.ParseUint(n, 10, 64)
			if err != nil {
				c.t.Fatal(err)
			}
			last = v
		}
	}
	return last
}

// numbered is the entry that stands at seq in every session of these tests.
func numbered(session string, seq uint64, size int) transcript.Entry {
	name := fmt.Sprint(session, "-", seq, "-", size)
	if en, ok := numberedBefore.Load(name); ok {
		return en.(transcript.Entry)
	}
	text := size
	if size == 0 {
		text = int(seq*7919%5000) + 1
		if seq%97 == 0 {
			text = 1<<20 + int(seq)
		}
	}
	en := storetest.Entry(fmt.Sprint(session, "-", seq), strings.Repeat(strconv.FormatUint(seq%10, 10), text))
	if size == 0 {
		numberedBefore.Store(name, en)
	}
	return en
}

// numberedBefore keeps those that are compared again and again.
var numberedBefore sync.Map

func writeForEver(st *store.Store, session string, batch, size int) error {
	h, err := st.Head(context.Background(), key(session))
	if err != nil && !errors.Is(err, transcript.ErrNotFound) {
		return err
	}
	last := h.Last
	for {
		var es []transcript.Entry
		for i := range batch {
			es = append(es, numbered(session, last+uint64(i)+1, size))
		}
		if last, err = st.Append(context.Background(), key(session), last, es); err != nil {
			return err
		}
		fmt.Println(session, last)
	}
}

// collectForEver makes waste beside what it writes, and has it collected.
func collectForEver(st *store.Store, session string) error {
	go func() { _ = writeForEver(st, session, 20, 2000) }()
	for i := 0; ; i++ {
		waste := key(fmt.Sprint("waste", i%4))
		var es []transcript.Entry
		for n := range uint64(2000) {
			es = append(es, numbered(fmt.Sprint(waste.Session, i), n+1, 4000))
		}
		if err := st.Delete(context.Background(), waste); err != nil {
			return err
		}
		if _, err := st.Append(context.Background(), waste, 0, es); err != nil {
			return err
		}
		if _, err := st.GC(context.Background()); err != nil {
			return err
		}
		fmt.Println("collected", i)
	}
}

// checkNumbered loads a session of these tests and returns how long it is.
func checkNumbered(t testing.TB, st transcript.Store, session string, size int) uint64 {
	t.Helper()
	want := uint64(0)
	for en, err := range st.Load(ctx, key(session), 0) {
		if errors.Is(err, transcript.ErrNotFound) {
			return 0
		}
		if err != nil {
			t.Fatalf("session %s: %v", session, err)
		}
		want++
		if en.Seq != want || string(en.Raw) != string(numbered(session, want, size).Raw) {
			t.Fatalf("session %s: entry %d is not what was written at %d", session, en.Seq, want)
		}
	}
	return want
}
