package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionText names the build: the module's version, or the commit.
func versionText() string {
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
				version = s.Value
			}
		}
	}
	if version == "" || version == "(devel)" {
		version = "development"
	}
	return fmt.Sprintf("flower %s %s/%s", version, runtime.GOOS, runtime.GOARCH)
}
