package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/flowerlua/flower/engine"
	"github.com/flowerlua/flower/engine/plugin"
)

// plugin is what the workspace's own plugin brings, and what of it cannot be used.
func (d *diagnosis) plugin(workspace string) {
	p, found, err := plugin.Within(workspace, engine.PluginFolder)
	var list interface{ Unwrap() []error }
	switch {
	case errors.As(err, &list):
		for _, e := range list.Unwrap() {
			d.add("plugin", "file", problemState, e.Error(), "correct it; agents that use the plugin do not start before that")
		}
		return
	case err != nil:
		d.add("plugin", "folder", problemState, err.Error(), "make it a folder of the workspace, or remove it")
		return
	case !found:
		return
	}
	d.well("plugin", "name", "%s", strings.TrimSpace(p.Name+" "+p.Version))
	var agents, skills, servers []string
	for _, a := range p.Agents {
		agents = append(agents, p.Name+":"+a.Name)
	}
	for _, s := range p.Skills {
		skills = append(skills, p.Name+":"+s.Name)
	}
	for _, s := range p.Servers {
		servers = append(servers, engine.PluginServer(p.Name, s.Name))
	}
	for _, row := range []struct {
		name string
		list []string
	}{{"agents", agents}, {"skills", skills}, {"servers", servers}} {
		if len(row.list) > 0 {
			slices.Sort(row.list)
			d.well("plugin", row.name, "%s", strings.Join(row.list, ", "))
		}
	}
	for _, note := range p.Notes {
		d.well("plugin", "not used", "%s", note)
	}
}
