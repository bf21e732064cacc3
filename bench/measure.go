package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// quantity is a figure with its unit. The zero quantity is none.
type quantity struct {
	value float64 // in seconds, bytes, or without a unit
	unit  unit
}

type unit int

const (
	none unit = iota
	second
	byteUnit // shown in decimal multiples
	mebibyte // bytes, shown in MiB as the source has it
	factor
)

func seconds(s float64) quantity        { return quantity{s, second} }
func duration(d time.Duration) quantity { return seconds(d.Seconds()) }
func memory(n float64) quantity         { return quantity{float64(n), byteUnit} }
func mebibytes(n float64) quantity      { return quantity{n * (1 << 20), mebibyte} }
func times(f float64) quantity          { return quantity{f, factor} }

func (q quantity) String() string {
	if q.unit == none {
		return ""
	}
	text, name := q.parts()
	return text + name
}

// parts are the number, to three digits, and the unit as it is written behind it.
func (q quantity) parts() (number, name string) {
	switch q.unit {
	case second:
		return scaled(q.value*1e9, 1000, " ns", " µs", " ms", " s")
	case byteUnit:
		return scaled(q.value, 1000, " B", " kB", " MB", " GB")
	case mebibyte:
		return digits(q.value / (1 << 20)), " MiB"
	case factor:
		return digits(q.value), "×"
	}
	return digits(q.value), ""
}

func scaled(v, step float64, names ...string) (number, name string) {
	i := 0
	for i < len(names)-1 && math.Abs(v) >= step {
		v /= step
		i++
	}
	return digits(v), names[i]
}

// digits shows three digits, and whole numbers whole.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) || a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// sample is what was measured several times.
type sample struct {
	median, low, high quantity // the quartiles around the median
	n                 int
}

// summarize makes a sample of values in the unit of one.
func summarize(values []float64, one unit) sample {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) quantity { return quantity{quantile(sorted, q), one} }
	return sample{median: at(0.5), low: at(0.25), high: at(0.75), n: len(values)}
}

// quantile is that of sorted values, between two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	place := q * float64(len(sorted)-1)
	i := int(place)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (sorted[i+1]-sorted[i])*(place-float64(i))
}

func median(values []float64) float64 { return summarize(values, none).median.value }

// spread tells the quartiles, of one measurement nothing.
func (s sample) spread() string {
	if s.n < 2 {
		return ""
	}
	low, lowUnit := s.low.parts()
	high, highUnit := s.high.parts()
	if lowUnit == highUnit {
		return low + "–" + high + highUnit
	}
	return low + lowUnit + "–" + high + highUnit
}

// against compares what was measured with an anchor that was measured in turn with
// it: the ratio is the median of those of the rounds, so that a load on the machine
// that comes and goes falls on both.
func against(name string, mine, theirs []float64, one unit) anchor {
	var ratios []float64
	for i := range min(len(mine), len(theirs)) {
		ratios = append(ratios, theirs[i]/mine[i])
	}
	return anchor{name: name, value: quantity{median(theirs), one}, ratio: median(ratios)}
}

// published compares a figure with one from the literature, which was measured
// elsewhere.
func published(name string, got sample, value quantity) anchor {
	return anchor{name: name + " (literature)", value: value, ratio: value.value / got.median.value}
}

var errWrong = errors.New("the answer is not the one that was to be timed")

// perCall times f, which reports whether its answer is right, in seconds a call. It
// takes many short batches, since on a machine with other work a short one is seldom
// interrupted, which is what a median needs.
func perCall(f func() bool, budget time.Duration) ([]float64, error) {
	const batch = 300 * time.Microsecond
	right := true
	timed := func(n int) time.Duration {
		start := time.Now()
		for range n {
			right = f() && right
		}
		return time.Since(start)
	}
	n := 1
	for timed(n) < batch && n < 1<<20 {
		n *= 2
	}
	var out []float64
	for start := time.Now(); len(out) < 20 || time.Since(start) < budget; {
		out = append(out, timed(n).Seconds()/float64(n))
	}
	if !right {
		return nil, errWrong
	}
	return out, nil
}
