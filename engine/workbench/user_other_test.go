//go:build unix && !linux

package workbench_test

import "testing"

func asOrdinaryUser(_ *testing.T, _ string, do func()) { do() }
