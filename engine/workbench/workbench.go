// Package workbench keeps what agents leave behind where the next one finds
// it: on disk, described, and listed.
//
// The nouns:
//
//   - a [Bench] is a folder with the folders scripts, artifacts, notes and
//     spill, usually <workspace>/.flower;
//   - its index, INDEX.md, lists every file of the first three: shown path,
//     description, size;
//   - a description is what a file says of itself in its first lines
//     ("# desc: builds the docs"), see [Describe];
//   - a shown path is the one to give to a model: relative to the workspace
//     for what lies inside it, absolute for what lies outside;
//   - a spill is a large tool result that was moved to a file, see
//     [WriteSpill];
//   - the prompt block tells an agent the rules of the bench and what is on it.
//
// In short:
//
//	bench, err := workbench.Open("", workspace, nil)
//	…
//	err = bench.Refresh()     // after each write, before each step
//	system := bench.Prompt()  // the last block of the system prompt
//
// A bench is used by agents, their commands and people while it is looked at:
// files appear, vanish and are unreadable at any moment. Looking at it never
// fails for that, never blocks on a pipe or a device, follows no link to a
// folder, and reads no more than the head of a file.
package workbench

import (
	"fmt"
	"path/filepath"
	"sync"
)

// Options of a bench. nil and the zero value are the defaults.
type Options struct {
	// Lang is the language of the prompt block and of the index's own
	// words: "en" or "zh". "" means en. File names do not depend on it.
	Lang string
}

// Bench is one workbench. It is safe for concurrent use; several processes may
// have the same one open.
type Bench struct {
	workspace, realWorkspace string
	root, realRoot           string
	words                    *words

	mu sync.Mutex // one Refresh at a time: the last to scan is the last to write
}

// Home is where the workbench of a workspace lies: <workspace>/.flower, or,
// outside of it, <parent>/.flower-<workspace name>. Isolated workers need it
// outside, since they cannot write into the shared checkout.
func Home(workspace string, outside bool) string {
	if !outside {
		return filepath.Join(workspace, ".flower")
	}
	if abs, err := filepath.Abs(workspace); err == nil {
		workspace = abs
	}
	return filepath.Join(filepath.Dir(workspace), ".flower-"+filepath.Base(workspace))
}

// New describes the bench at root without touching the disk. An empty root
// means [Home] inside the workspace; a relative one is taken from the
// workspace. It fails when workspace is empty or the language is not known.
func New(root, workspace string, options *Options) (*Bench, error) {
	return newBench(root, workspace, options)
}

// Open is [New] and makes the folders, and a .gitignore of "*" in root, where
// they are not there yet.
func Open(root, workspace string, options *Options) (*Bench, error) {
	b, err := newBench(root, workspace, options)
	if err != nil {
		return nil, err
	}
	if err := b.makeFolders(); err != nil {
		return nil, err
	}
	return b, nil
}

// Root is the absolute path of the bench's folder.
func (b *Bench) Root() string { return b.root }

// Scripts is the folder of scripts that run more than once.
func (b *Bench) Scripts() string { return filepath.Join(b.root, scripts) }

// Artifacts is the folder of long output.
func (b *Bench) Artifacts() string { return filepath.Join(b.root, artifacts) }

// Notes is the folder of decisions, briefs, goals and handoffs.
func (b *Bench) Notes() string { return filepath.Join(b.root, notes) }

// Spills is the folder of spilled tool results. The index leaves it out: the
// pointers to it stand in the contexts they were taken from.
func (b *Bench) Spills() string { return filepath.Join(b.root, spill) }

// IndexFile is the path of INDEX.md.
func (b *Bench) IndexFile() string { return filepath.Join(b.root, indexName) }

// Outside reports whether the bench lies outside the workspace, so that its
// shown paths are absolute.
func (b *Bench) Outside() bool { return filepath.IsAbs(filepath.FromSlash(b.Shown(b.root))) }

// Shown is the path to give to a model: relative to the workspace, with
// slashes, for what lies inside the workspace, absolute otherwise. A relative
// path is taken from the workspace. Nothing needs to be there.
func (b *Bench) Shown(path string) string { return b.shown(path) }

// Contains reports whether path, followed through links, lies on the bench. A
// relative path is taken from the workspace.
func (b *Bench) Contains(path string) bool { return b.contains(path) }

// Refresh makes the bench's folders where they are gone and writes INDEX.md,
// if it would change. It fails only when it cannot write.
func (b *Bench) Refresh() error { return b.refresh() }

// Prompt is the block for the system prompt: the three rules, then at most 40
// files a folder, with their descriptions cut at 100 characters. Sizes are
// left out, so that the block, and with it a provider's cache, changes only
// when files come, go or are described anew. It ends with a line feed. It only
// reads; on a bench that is not there it lists nothing.
func (b *Bench) Prompt() string { return b.prompt() }

// WriteSpill writes text to the bench's spill folder, as the function
// [WriteSpill] does, and returns its shown path.
func (b *Bench) WriteSpill(text string) (shown string, err error) {
	path, err := WriteSpill(b.Spills(), text)
	if err != nil {
		return "", err
	}
	return b.Shown(path), nil
}

// WriteSpill writes text to <dir>/<16 hex digits of its SHA-256>.txt, mode
// 0600, and returns that path. The folder is made. The same text gives the
// same file, which is written once; a file that holds anything else is
// replaced, so what the path points to is always text. It is on disk when
// WriteSpill returns.
func WriteSpill(dir, text string) (path string, err error) { return writeSpill(dir, text) }

// Ignore makes dir and puts a .gitignore of "*" into it, so that version
// control leaves it alone. A .gitignore that is there stays as it is.
func Ignore(dir string) error { return ignore(dir) }

// Describe is what a file says of itself in its first eight lines, "" if it
// says nothing:
//
//   - what follows "desc:" (the exact word, any case, also with a full-width
//     colon) at the beginning of a comment: behind #, // or --, or inside
//     /* */, <!-- --> or --[[ ]];
//   - else the first comment that is meant for people, cut at 100 characters:
//     interpreter lines, editor and linter settings, preprocessor directives
//     and ornaments are passed over;
//   - else the first line of a docstring, cut likewise.
//
// content may be the head of a file; no more than its first 8 KiB are looked
// at. The result is one line of valid UTF-8 without control characters:
// invalid bytes have become U+FFFD. Binary content says nothing.
func Describe(content []byte) string { return describe(content) }

func newBench(root, workspace string, options *Options) (*Bench, error) {
	if workspace == "" {
		return nil, fmt.Errorf("workbench: the workspace is empty: give its folder")
	}
	if options == nil {
		options = &Options{}
	}
	words, err := wordsFor(options.Lang)
	if err != nil {
		return nil, err
	}
	workspace, err = filepath.Abs(workspace)
	if err != nil {
		return nil, fmt.Errorf("workbench: workspace %s: %w", workspace, err)
	}
	b := &Bench{workspace: workspace, realWorkspace: resolve(workspace), words: words}
	if root == "" {
		root = Home(workspace, false)
	}
	b.root = b.absolute(root)
	b.realRoot = resolve(b.root)
	return b, nil
}
