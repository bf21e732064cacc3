package luabind

import (
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Limits of a script. Lua's own defaults let it take what it can get, and some of
// what it can get ends the process: Go's stack and memory are not Lua's to catch.
const (
	callDepth    = 500     // nested calls of the main thread
	coroutineAll = 50      // coroutines that resume each other, nested
	coroutineRun = 200     // nested calls in one of them
	registryInit = 1 << 10 // slots for values of the main thread; growing copies them
	registryCo   = 128     // of a coroutine
	registryStep = 1 << 14 // by which they grow
	registryMost = 1 << 18 // to at most

	maxSource    = 256 << 10 // of one file or chunk, in bytes
	maxConstants = 20_000    // different ones in it: the compiler is quadratic in their number
	maxSyntax    = 1000      // nested expressions and blocks
	maxListed    = 25_550    // values written out in one table; Lua's encoding of more is broken
	maxArray     = 1 << 20   // longest array part; beyond it a table hashes
	maxString    = 64 << 20  // longest text that a script can make, in bytes
	maxFormat    = 1000      // longest format of os.date
	maxDepth     = 200       // nested tables that become Go data or JSON
	maxNodes     = 1 << 20   // values in them
	maxJSON      = 16 << 20  // text that is decoded, in bytes
	maxShown     = 64 << 10  // of a text that is printed, logged or an error, in bytes
	maxMistakes  = 50        // that are listed
	maxFindings  = 500       // of a script that is checked, errors and warnings apart
	maxSteps     = 10_000    // of a workflow
	maxRuns      = 16        // agents and workflows that callbacks run, within each other
	maxGlob      = 100_000   // files that one pattern gives
	maxAmount    = 1e12      // of a number that stands for an amount: money, seconds
)

func init() {
	// Process-wide in gopher-lua, and only a threshold between two ways to store
	// the same table: t[1e9] = 1 must not allocate a billion slots.
	lua.MaxArrayIndex = maxArray
}

// Defaults of Options.
const (
	defaultCompute = time.Minute
	defaultCommand = 2 * time.Minute
	defaultMemory  = 512 << 20
)

func (o *Options) computeLimit() time.Duration {
	if o.ComputeLimit == 0 {
		return defaultCompute
	}
	return o.ComputeLimit
}

func (o *Options) commandLimit() time.Duration {
	if o.CommandLimit == 0 {
		return defaultCommand
	}
	return o.CommandLimit
}

// memoryLimit is 0 when memory is not watched.
func (o *Options) memoryLimit() uint64 {
	switch {
	case o.MemoryLimit == 0:
		return defaultMemory
	case o.MemoryLimit < 0:
		return 0
	}
	return uint64(o.MemoryLimit)
}

func (o *Options) check() error {
	if o.ComputeLimit < 0 || o.CommandLimit < 0 {
		return fmt.Errorf("luabind: a limit is negative (compute %v, command %v)", o.ComputeLimit, o.CommandLimit)
	}
	names := map[string]bool{}
	for _, m := range o.Modules {
		if err := m.check(); err != nil {
			return err
		}
		if names[m.Name] {
			return fmt.Errorf("luabind: two modules are called %q", m.Name)
		}
		names[m.Name] = true
	}
	return nil
}

// clip bounds a text that is shown to a person.
func clip(text string) string {
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for cut > maxShown-4 && text[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:cut], len(text)-cut)
}
