package engine

import (
	"errors"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/harness"
)

func compileTurn(c Config, s Spec, prompt string) (harness.Turn, error) {
	if c.Workspace == "" {
		return harness.Turn{}, errNoWorkspace
	}
	if err := c.checkBrought(); err != nil {
		return harness.Turn{}, err
	}
	if s.InCopy {
		return harness.Turn{}, errors.New("spec " + s.Name + ": an agent that works in a copy of the workspace needs a Runtime, which makes it")
	}
	workspace, runDir, err := c.places()
	if err != nil {
		return harness.Turn{}, err
	}
	rt := &Runtime{base: &base{config: c, workspace: workspace, runDir: runDir}, bench: c.Workbench, plugins: c.Plugins}
	agent, brought, err := rt.compile(s)
	if err != nil {
		return harness.Turn{}, err
	}
	sink := c.Sink
	if sink == nil {
		sink = event.Discard
	}
	for _, note := range brought.notes {
		sink.Emit(event.Event{Kind: event.System, Step: s.Name, Text: note})
	}
	tell := func(e event.Event) {
		e.Step = s.Name
		sink.Emit(e)
	}
	view := DefaultView()
	if c.View != nil {
		view = *c.View
	}
	return harness.Turn{
		Agent: agent, Prompt: prompt, Store: c.Store, View: view, Guards: rt.guards(s, agent, tell), HostTools: rt.hostTools(&s),
		Limits: harness.Limits{Turns: s.MaxTurns, USD: s.MaxBudgetUSD}, Sink: sink, Step: s.Name,
	}, nil
}
