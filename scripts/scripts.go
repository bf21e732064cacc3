// Package scripts embeds the scripts that come with the flower command.
package scripts

import _ "embed"

// Starter is what flower "make me X" runs.
//
//go:embed starter.lua
var Starter string
