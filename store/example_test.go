package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine/transcript"
	"github.com/flowerlua/flower/store"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	st, err := store.Open(filepath.Join(folder, "sessions"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()

	ctx := context.Background()
	session := transcript.Key{Project: "demo", Session: "s1"}
	entry, err := transcript.Parse([]byte(`{"uuid":"u1","type":"user","message":{"role":"user","content":"hello"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	last, err := st.Append(ctx, session, 0, []transcript.Entry{entry})
	fmt.Println("appended", last, err)
	for en, err := range st.Load(ctx, session, 0) {
		fmt.Println(en.Seq, en.UUID, en.Role, err)
	}
	// Output:
	// appended 1 <nil>
	// 1 u1 user <nil>
}
