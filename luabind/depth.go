package luabind

import (
	"context"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// A callback can run agents and workflows whose callbacks do so again. How deep they
// are goes with the context, through the engine: steps side by side are not within
// each other, though their callbacks wait on one stack.

type depthKey struct{}

func depthOf(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
}

// withDepth is the context of what is run at a depth.
func withDepth(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, depthKey{}, depth)
}

// deeper checks that another run may begin where the script is now, and raises when
// it may not; the function gives that run its context.
func (s *state) deeper(L *lua.LState, what string) func(context.Context) context.Context {
	depth := depthOf(s.clock.context())
	if depth >= maxRuns {
		s.raise(L, CodeLimit, fmt.Errorf("%s: %d runs are within each other; does a callback run its own agent or workflow again, without an end?", what, depth))
	}
	return func(ctx context.Context) context.Context { return withDepth(ctx, depth+1) }
}
