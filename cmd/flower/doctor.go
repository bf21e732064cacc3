package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/flowerlua/flower/engine/shell"
)

type doctorCommand struct {
	Topic  []string `arg:"" optional:"" help:"command LINE: is the line an ephemeral command, and which part decides."`
	Online bool     `help:"Look whether the model's address can be reached too; costs nothing."`
}

// What an exam came to. A problem would stop a run.
const (
	wellState    = "ok"
	warningState = "warning"
	problemState = "problem"
)

// exam is one thing that was looked at.
type exam struct {
	Area  string `json:"area"`
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"` // what to do
}

// examined is a setting with its origin, secrets hidden.
type examined struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // empty: not set
	Origin string `json:"origin"`
	Line   int    `json:"line,omitempty"`
}

// diagnosis is all that doctor found, in the order in which it is shown.
type diagnosis struct {
	Version  string     `json:"version"`
	Settings []examined `json:"settings"`
	Exams    []exam     `json:"exams"`
	Problems int        `json:"problems"`
	Warnings int        `json:"warnings"`
}

func (d *diagnosis) add(area, name, state, text, fix string) {
	switch state {
	case problemState:
		d.Problems++
	case warningState:
		d.Warnings++
	}
	d.Exams = append(d.Exams, exam{area, name, state, clean(text), clean(fix)})
}

func (d *diagnosis) well(area, name, format string, args ...any) {
	d.add(area, name, wellState, fmt.Sprintf(format, args...), "")
}

// doctor shows every setting with its origin, what a run needs of the machine, and
// what to do about what is missing. It changes nothing.
func (a *app) doctor(ctx context.Context, c *cli) error {
	if len(c.Doctor.Topic) > 0 {
		return a.doctorCommand(c.Doctor.Topic, c.JSON)
	}
	workspace, runDir, err := c.existing()
	if err != nil {
		return err
	}
	d := &diagnosis{Version: versionText()}
	endpoint := d.settings(workspace, c)
	d.places(ctx, workspace, runDir)
	d.plugin(workspace)
	d.programs(ctx, workspace, c.Harness)
	d.network(ctx, endpoint, c.Doctor.Online)
	d.terminal(a)
	if c.JSON {
		err = writeJSON(a, d)
	} else {
		err = a.printDiagnosis(d)
	}
	if err == nil && d.Problems > 0 {
		err = fmt.Errorf("%s would stop a run", counted(d.Problems, "thing"))
	}
	return err
}

// marks stand before what is not well.
var marks = map[string]string{wellState: " ", warningState: "*", problemState: "!"}

func (a *app) printDiagnosis(d *diagnosis) error {
	p := newPage(a.out)
	fmt.Fprintf(p, "%s\n\n", d.Version)
	p.heading("settings")
	keyWidth := 30
	if p.width < 70 {
		keyWidth = 0
	}
	for _, s := range d.Settings {
		if s.Value == "" {
			p.text("    ", fmt.Sprintf("%-*s not set", keyWidth, s.Key))
			continue
		}
		place := s.Origin
		if s.Line > 0 {
			place += fmt.Sprintf(", line %d", s.Line)
		}
		p.text("    ", fmt.Sprintf("%-*s %s  from %s", keyWidth, s.Key, s.Value, place))
	}
	area, nameWidth := "settings", min(14, keyWidth)
	for _, e := range d.Exams {
		if e.Area != area {
			area = e.Area
			fmt.Fprintln(p)
			p.heading("%s", area)
		}
		p.text("  "+marks[e.State]+" ", fmt.Sprintf("%-*s %s", nameWidth, e.Name, e.Text))
		if e.Fix != "" {
			p.text("      ", "to do: "+e.Fix)
		}
	}
	fmt.Fprintln(p)
	switch {
	case d.Problems > 0:
	case d.Warnings > 0:
		p.text("", "nothing would stop a run; "+counted(d.Warnings, "thing")+" to look at (*)")
	default:
		p.text("", "nothing is wrong")
	}
	return p.Flush()
}

// explained is the verdict on a command line for programs.
type explained struct {
	Ephemeral bool   `json:"ephemeral"`
	Part      string `json:"part"` // that decided
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Reason    string `json:"reason"`
}

// doctorCommand explains whether a command line is ephemeral.
func (a *app) doctorCommand(topic []string, asJSON bool) error {
	if topic[0] != "command" || len(topic) != 2 {
		return wrongUse(`flower doctor takes nothing, or: command "LINE"`)
	}
	verdict := shell.Explain(topic[1])
	if asJSON {
		return writeJSON(a, explained{verdict.Ephemeral, verdict.Part, verdict.Line, verdict.Col, verdict.Reason})
	}
	fmt.Fprintln(a, strings.TrimSpace(clean(verdict.String())))
	return nil
}
