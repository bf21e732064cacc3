// Package stdlib embeds the Lua modules that scripts find under flower.: the
// workflow layer, which users read and copy.
package stdlib

import "embed"

// Modules are the files by their name: clarify.lua is require("flower.clarify").
//
//go:embed *.lua
var Modules embed.FS

// Meta is the annotations of all that scripts have, for the Lua language server: a
// folder meta, to be named as a library of its workspace. What is in it is never
// executed. Its files are those by which require finds the modules: meta/flower.lua,
// meta/flower/clarify.lua.
//
//go:embed meta
var Meta embed.FS
