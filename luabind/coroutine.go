package luabind

import (
	"errors"
	"runtime"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// Coroutines run under the state's one clock, whenever they were made; gopher-lua
// would derive a context of its own for each, which ends with the call that made
// it. And they keep to the rules that Lua's own keep and gopher-lua's do not: one
// that waits for another cannot be resumed by it, one that failed is dead, and
// nobody yields where it could not be continued. Without these a script could send
// Go into a recursion that ends the process.

// yielding is coroutine.yield around gopher-lua's, which gives back as many values
// as resume was given, whatever the place of the call wants: only as the last
// argument of another call is that right.
var yielding = sync.OnceValues(func() (*chunk, error) {
	return compile("coroutine", "local yield, pass = ... return function(...) return pass(yield(...)) end")
})

func (s *state) openCoroutines() {
	lib := s.L.GetGlobal(lua.CoroutineLibName).(*lua.LTable)
	create := goFunctionOf(lib, "create")
	resume := goFunctionOf(lib, "resume")
	yield := goFunctionOf(lib, "yield")
	lib.RawSetString("create", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(s.newCoroutine(L, create))
		return 1
	}))
	lib.RawSetString("resume", s.L.NewFunction(func(L *lua.LState) int {
		return s.resume(L, L.CheckThread(1), resume)
	}))
	lib.RawSetString("wrap", s.L.NewFunction(func(L *lua.LState) int {
		thread := s.newCoroutine(L, create)
		L.Push(s.L.NewFunction(func(L *lua.LState) int {
			L.Insert(thread, 1)
			n := s.resume(L, thread, resume)
			if first := L.GetTop() - n + 1; L.Get(first) == lua.LFalse {
				L.Error(L.Get(first+1), 0)
			}
			return n - 1
		}))
		return 1
	}))
	lib.RawSetString("status", s.L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LString(s.status(L, L.CheckThread(1))))
		return 1
	}))
	lib.RawSetString("yield", s.newYield(yield))
}

func (s *state) newYield(library lua.LGFunction) lua.LValue {
	c, err := yielding()
	if err != nil {
		return lua.LNil // it compiles, or every test fails
	}
	s.L.Push(s.L.NewFunctionFromProto(c.proto))
	s.L.Push(s.L.NewFunction(func(L *lua.LState) int {
		if L != s.L {
			checkYield(L)
		}
		return library(L)
	}))
	s.L.Push(s.L.NewFunction(func(L *lua.LState) int { return L.GetTop() }))
	s.L.Call(2, 1)
	fn := s.L.Get(-1)
	s.L.Pop(1)
	return fn
}

// goFunctionOf is the Go function behind a library's.
func goFunctionOf(lib *lua.LTable, name string) lua.LGFunction {
	return lib.RawGetString(name).(*lua.LFunction).GFunction
}

func (s *state) newCoroutine(L *lua.LState, create lua.LGFunction) *lua.LState {
	if fn := L.CheckFunction(1); fn.IsG {
		L.ArgError(1, "a function written in Lua expected")
	}
	L.RemoveContext()
	create(L)
	L.SetContext(s.clock)
	thread := L.Get(-1).(*lua.LState)
	L.Pop(1)
	thread.SetContext(s.clock)
	return thread
}

// resume continues a coroutine, whose arguments lie behind it on L's stack, and
// gives the number of values that it left there: false and an error, or true and
// what was yielded or returned.
func (s *state) resume(L, thread *lua.LState, library lua.LGFunction) int {
	switch {
	case thread.Dead:
		return refuse(L, "cannot resume dead coroutine")
	case thread == L || thread == s.L || s.resumed[thread]:
		return refuse(L, "cannot resume non-suspended coroutine")
	case len(s.resumed) >= coroutineAll:
		return refuse(L, "too many coroutines resume each other")
	}
	s.resumed[thread] = true
	current, base, n := L.G.CurrentThread, L.GetTop(), 0
	var broken runtime.Error
	func() {
		defer func() {
			delete(s.resumed, thread)
			L.G.CurrentThread = current
			if p := recover(); p != nil {
				thread.Dead = true
				if err, ok := p.(error); !ok || !errors.As(err, &broken) {
					panic(p)
				}
			}
		}()
		n = library(L)
	}()
	if broken != nil {
		L.SetTop(base)
		return refuse(L, "the coroutine broke: "+broken.Error())
	}
	return n
}

func refuse(L *lua.LState, text string) int {
	L.Push(lua.LFalse)
	L.Push(lua.LString(text))
	return 2
}

// status is what coroutine.status says.
func (s *state) status(L, thread *lua.LState) string {
	switch {
	case thread.Dead:
		return "dead"
	case thread == L:
		return "running"
	case thread == s.L || s.resumed[thread]:
		return "normal"
	}
	return "suspended"
}

// checkYield raises where a coroutine cannot yield, because Go waits for it to
// return: in a function that a library function or a metamethod called, and in an
// iterator.
func checkYield(L *lua.LState) {
	const caller = 3 // behind the function that yields, and the one in Lua around it
	if name := goCaller(L); name != "" {
		L.Error(lua.LString("attempt to yield across "+name), caller)
	}
	if loops() > 1 {
		L.Error(lua.LString("attempt to yield in an iterator or a metamethod"), caller)
	}
}

// goCaller names the Go function that runs between a coroutine's start and the
// yield that is being called; "" when there is none.
func goCaller(L *lua.LState) string {
	for level := 1; ; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			return ""
		}
		fn, err := L.GetInfo("fn", frame, lua.LNil)
		if f, isFn := fn.(*lua.LFunction); err == nil && isFn && f.IsG {
			return frame.Name
		}
	}
}

// loops counts how often gopher-lua's interpreter runs, one in the other, since
// the coroutine was resumed. Nothing but Go's own stack knows.
func loops() (n int) {
	var stack [32]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(1, stack[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case strings.HasSuffix(frame.Function, ".mainLoopWithContext"):
			n++
		case strings.HasSuffix(frame.Function, ".threadRun"):
			return n
		}
	}
	return n + 1
}
