// Package stdlib embeds the Lua modules that scripts find under flower.: the
// workflow layer, which users read and copy.
package stdlib

import "embed"

// Modules are the files by their name: clarify.lua is require("flower.clarify").
//
//go:embed *.lua
var Modules embed.FS
