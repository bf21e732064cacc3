package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version prints the build.
func (a *app) version(c *cli) error {
	if c.JSON {
		return writeJSON(a, map[string]string{"version": version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	fmt.Fprintln(a, versionText())
	return nil
}

// version names the build: the module's version, or the commit.
func version() string {
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
	return version
}

// versionText is the version with what it was built for.
func versionText() string {
	return fmt.Sprintf("flower %s %s/%s", version(), runtime.GOOS, runtime.GOARCH)
}
