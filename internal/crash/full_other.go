//go:build !linux

package main

import (
	"context"
	"errors"
	"os/exec"
)

func apart(context.Context, string) (*exec.Cmd, error) {
	return nil, errors.New("only on Linux")
}

func mountSmall(string, int) error { return errors.New("only on Linux") }
