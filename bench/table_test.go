package main

import (
	"strings"
	"testing"
)

func TestTable_print_aligns_figures_and_anchors(t *testing.T) {
	got := summarize([]float64{0.0403, 0.0421, 0.0485}, second)
	tab := table{
		title: "Start",
		rows: []row{
			{what: "first request", got: got, reach: goal{atMost: seconds(0.050)},
				anchors: []anchor{published("Claude Code", got, seconds(1.15)), published("pi", got, seconds(1.45))}},
			{what: "append", got: summarize([]float64{20.4e-6}, second), reach: goal{ratio: 3},
				anchors: []anchor{{name: "SQLite", value: seconds(51.2e-6), ratio: 2.51}}},
			{what: "peak", got: summarize([]float64{37.4e6}, byteUnit)},
			{what: "gate", problem: "does not build", reach: goal{atMost: seconds(5e-6)}},
		},
		notes: []string{"a note"},
	}
	var out strings.Builder
	if err := tab.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `
Start

                     measured     quartiles  anchor                             ratio  to reach  met
  first request       42.1 ms  41.2–45.3 ms  Claude Code (literature)   1.15 s  27.3×   ≤ 50 ms  yes
                                             pi (literature)            1.45 s  34.4×
  append              20.4 µs                SQLite                    51.2 µs  2.51×        3×  no
  peak                37.4 MB
  gate           not measured                                                            ≤ 5 µs
  · a note
  · gate: not measured: does not build
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestRow_met(t *testing.T) {
	got := summarize([]float64{0.020}, second)
	better := []anchor{{ratio: 6}, {ratio: 1}}
	for name, c := range map[string]struct {
		row  row
		want string
	}{
		"no goal":               {row{got: got}, ""},
		"within the limit":      {row{got: got, reach: goal{atMost: seconds(0.020)}}, "yes"},
		"over the limit":        {row{got: got, reach: goal{atMost: seconds(0.019)}}, "no"},
		"ratio of the first":    {row{got: got, anchors: better, reach: goal{ratio: 5}}, "yes"},
		"ratio too small":       {row{got: got, anchors: better, reach: goal{ratio: 7}}, "no"},
		"ratio without anchors": {row{got: got, reach: goal{ratio: 1}}, "no"},
		"one of two":            {row{got: got, anchors: better, reach: goal{ratio: 5, atMost: seconds(0.001)}}, "no"},
		"both of two":           {row{got: got, anchors: better, reach: goal{ratio: 5, atMost: seconds(0.1)}}, "yes"},
		"not measured":          {row{problem: "broken", reach: goal{ratio: 5}}, ""},
	} {
		if got := c.row.met(); got != c.want {
			t.Errorf("%s: met = %q, want %q", name, got, c.want)
		}
	}
}
