package luabind

import (
	"context"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
	"github.com/flowerlua/flower/engine/tool"
	"github.com/flowerlua/flower/internal/spell"
)

// openHuman adds flower.channel, whose value is a handle.
func (s *state) openHuman(flower *lua.LTable) {
	s.channelMeta = s.handleMeta("channel", map[string]lua.LGFunction{
		"ask": s.channelAsk, "inbox": s.channelInbox, "send": s.channelSend, "answer": s.channelAnswer,
		"decline": s.channelDecline, "pending": s.channelPending, "remaining": s.channelRemaining,
	})
	flower.RawSetString("channel", s.L.NewFunction(s.luaChannel))
}

// handleMeta is the metatable of a handle with methods only: unknown names raise,
// nothing can be set.
func (s *state) handleMeta(kind string, methods map[string]lua.LGFunction) *lua.LTable {
	meta := s.L.CreateTable(0, 3)
	bound := map[string]*lua.LFunction{}
	var names []string
	for name, method := range methods {
		bound[name] = s.L.NewFunction(method)
		names = append(names, name)
	}
	meta.RawSetString("__metatable", lua.LString(kind))
	meta.RawSetString("__index", s.L.NewFunction(func(L *lua.LState) int {
		name := L.ToStringMeta(L.Get(2)).String()
		if bound[name] == nil {
			s.misuse(L, "a %s has no %q%s", kind, name, spell.Hint(name, names))
		}
		L.Push(bound[name])
		return 1
	}))
	meta.RawSetString("__newindex", s.L.NewFunction(func(L *lua.LState) int {
		s.misuse(L, "a %s is read-only: %s cannot be set", kind, L.ToStringMeta(L.Get(2)))
		return 0
	}))
	return meta
}

// luaChannel is flower.channel{ max_asks, timeout, log_path, amend_path }.
func (s *state) luaChannel(L *lua.LState) int { return s.makeChannel(L, nil) }

// makeChannel makes a channel with a sink of its own; nil: the runs' sinks.
func (s *state) makeChannel(L *lua.LState, own event.Sink) int {
	var found []Mistake
	r := s.reader(L, s.optionTable(L, 1, "flower.channel"), "", &found)
	o := human.Options{Lang: s.rt.Lang(), Store: s.rt.Store(), Project: s.rt.Project(), Sink: own}
	if r.has("max_asks") {
		n := r.count("max_asks")
		o.MaxAsks = &n
	}
	r.get("max_asks")
	if v := r.get("timeout"); v != lua.LNil {
		n, ok := v.(lua.LNumber)
		switch {
		case !ok:
			r.mustBe("timeout", "a number of seconds", v)
		case !(n <= 1e9):
			r.wrong("timeout", "is %s seconds; that is more than can be meant", v)
		}
		d := time.Duration(float64(max(n, -1)) * float64(time.Second))
		o.Timeout = &d
	}
	o.LogPath = s.placeField(r, "log_path")
	o.AmendPath = s.placeField(r, "amend_path")
	r.finish()
	if len(found) > 0 {
		s.raise(L, CodeMisuse, newMistakes(found))
	}
	ch, err := human.New(o)
	if err != nil {
		s.raise(L, CodeEngine, err)
	}
	u := L.NewUserData()
	u.Value = ch
	L.SetMetatable(u, s.channelMeta)
	L.Push(u)
	return 1
}

func (s *state) checkChannel(L *lua.LState) *human.Channel {
	if u, ok := L.Get(1).(*lua.LUserData); ok {
		if ch, ok := u.Value.(*human.Channel); ok {
			return ch
		}
	}
	s.misuse(L, "call methods of a channel with a colon: channel:ask(…)")
	return nil
}

// readChannel reads the field channel of a role or workflow.
func (s *state) readChannel(r *reader) *human.Channel {
	v := r.get("channel")
	if u, ok := v.(*lua.LUserData); ok {
		if ch, ok := u.Value.(*human.Channel); ok {
			return ch
		}
	}
	if v != lua.LNil {
		r.mustBe("channel", "what flower.channel{…} gave", v)
	}
	return nil
}

// offerHuman gives a spec the tools of its channel.
func (s *state) offerHuman(spec *engine.Spec, ch *human.Channel) {
	if ch != nil {
		spec.Tools = tool.HumanTools(ch)
	}
}

// channelAsk is channel:ask(question [, options]): the answer, or what an agent
// would be told, and the state.
func (s *state) channelAsk(L *lua.LState) int {
	ch, question := s.checkChannel(L), L.CheckString(2)
	options := s.askOptions(L)
	var reply human.Reply
	s.block(func(ctx context.Context) { reply = ch.Ask(ctx, "", question, options) })
	L.Push(lua.LString(reply.Text))
	L.Push(lua.LString(reply.Question.State))
	return 2
}

// askOptions is the optional list of texts that a question offers.
func (s *state) askOptions(L *lua.LState) (options []string) {
	v := L.Get(3)
	if v == lua.LNil {
		return nil
	}
	plain, err := s.fromValue(v)
	if m, ok := plain.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	list, ok := plain.([]any)
	if err != nil || !ok {
		s.misuse(L, "channel:ask: the options must be a list of texts, are a %s", s.describe(v))
	}
	for i, item := range list {
		switch item := item.(type) {
		case string:
			options = append(options, item)
		case float64:
			options = append(options, lua.LNumber(item).String())
		default:
			s.misuse(L, "channel:ask: the options must be a list of texts; item %d is none", i+1)
		}
	}
	return options
}

func (s *state) channelInbox(L *lua.LState) int {
	L.Push(lua.LString(s.checkChannel(L).Inbox()))
	return 1
}

// channelSend is channel:send(text): true when it is in the brief, else false and
// why.
func (s *state) channelSend(L *lua.LState) int {
	r := s.checkChannel(L).Send(L.CheckString(2))
	L.Push(lua.LBool(r.Amended))
	if r.Err != nil {
		L.Push(lua.LString(r.Err.Error()))
		return 2
	}
	return 1
}

func (s *state) channelAnswer(L *lua.LState) int {
	L.Push(lua.LBool(s.checkChannel(L).Answer(L.CheckString(2), L.CheckString(3))))
	return 1
}

func (s *state) channelDecline(L *lua.LState) int {
	L.Push(lua.LBool(s.checkChannel(L).Decline(L.CheckString(2))))
	return 1
}

func (s *state) channelPending(L *lua.LState) int {
	open := s.checkChannel(L).Pending()
	if open == nil {
		open = []human.Question{} // a list also when nothing is open
	}
	L.Push(s.viaJSON(open))
	return 1
}

func (s *state) channelRemaining(L *lua.LState) int {
	L.Push(lua.LNumber(s.checkChannel(L).Remaining()))
	return 1
}
