package shell_test

import (
	"fmt"

	"github.com/flowerlua/flower/engine/shell"
)

func ExampleEphemeral() {
	fmt.Println(shell.Ephemeral("git status -s && echo --- && git log --oneline -5"))
	fmt.Println(shell.Ephemeral("ls\nrm -rf build"))
	// Output:
	// true
	// false
}

func ExampleExplain() {
	fmt.Println(shell.Explain("git log -3 && git branch topic"))
	fmt.Println(shell.Explain("make test > log.txt"))
	// Output:
	// not ephemeral: `branch` at 1:19: git branch with an argument changes something unless -l, --list or --contains says to list
	// not ephemeral: `make` at 1:1: make is only known to read when it prints its version: --version or -v
}
