package workbench_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/engine/workbench"
)

func Example() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	bench, err := workbench.Open("", workspace, nil)
	if err != nil {
		panic(err)
	}
	script := filepath.Join(bench.Scripts(), "check.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n# desc: runs all tests\n"), 0o755); err != nil {
		panic(err)
	}
	fmt.Print(bench.Prompt())
	// Output:
	// # Workbench
	//
	// What shall outlive this session goes into files here:
	//
	// 1. A script that will run a second time: into .flower/scripts/, with `# desc: what it does` among its first lines. Look there before you write one.
	// 2. Output of more than 2000 characters: into .flower/artifacts/; your reply gives only its path and the conclusion.
	// 3. Decisions: into .flower/notes/, one file each, with the reason.
	//
	// .flower/scripts/
	// - `.flower/scripts/check.sh` — runs all tests
}

func ExampleDescribe() {
	fmt.Println(workbench.Describe([]byte("#!/usr/bin/env bash\n# desc: build the docs\n")))
	fmt.Println(workbench.Describe([]byte("# -*- coding: utf-8 -*-\n# tidy logs\n")))
	fmt.Println(workbench.Describe([]byte("\"\"\"\nCollect stats.\n\"\"\"\n")))
	// Output:
	// build the docs
	// tidy logs
	// Collect stats.
}
