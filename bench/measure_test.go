package main

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestQuantity_shows_three_digits_and_its_unit(t *testing.T) {
	for _, c := range []struct {
		q    quantity
		want string
	}{
		{quantity{}, ""},
		{seconds(1.15), "1.15 s"},
		{seconds(120), "120 s"},
		{duration(5 * time.Microsecond), "5 µs"},
		{seconds(0.0123456), "12.3 ms"},
		{seconds(912e-9), "912 ns"},
		{memory(300e3), "300 kB"},
		{memory(37_400_000), "37.4 MB"},
		{memory(512), "512 B"},
		{mebibytes(298), "298 MiB"},
		{times(1.5), "1.50×"},
		{times(1117.4), "1117×"},
	} {
		if got := c.q.String(); got != c.want {
			t.Errorf("%+v = %q, want %q", c.q, got, c.want)
		}
	}
}

func TestSummarize_gives_median_and_quartiles_of_any_order(t *testing.T) {
	s := summarize([]float64{4, 1, 3, 2, 100}, second)
	if s.median != seconds(3) || s.low != seconds(2) || s.high != seconds(4) || s.n != 5 {
		t.Errorf("got %+v", s)
	}
	if even := summarize([]float64{1, 2}, second); even.median != seconds(1.5) {
		t.Errorf("median of two = %v", even.median)
	}
	if !math.IsNaN(median(nil)) {
		t.Error("there is a median of nothing")
	}
}

func TestSpread(t *testing.T) {
	for want, values := range map[string][]float64{
		"":              {0.001},
		"2–4 ms":        {0.001, 0.002, 0.003, 0.004, 0.005},
		"900 µs–1.50 s": {0.0001, 0.0009, 0.002, 1.5, 2},
	} {
		if got := summarize(values, second).spread(); got != want {
			t.Errorf("spread of %v = %q, want %q", values, got, want)
		}
	}
}

func TestAgainst_compares_round_by_round(t *testing.T) {
	// The second round met a load that made both ten times slower.
	a := against("SQLite", []float64{1, 10, 1.5}, []float64{3, 30, 4.5}, second)
	if a.ratio != 3 || a.value != seconds(4.5) || a.name != "SQLite" {
		t.Errorf("got %+v", a)
	}
}

func TestPerCall_times_a_call(t *testing.T) {
	values, err := perCall(func() bool { time.Sleep(200 * time.Microsecond); return true }, time.Millisecond)
	if err != nil || len(values) < 20 || median(values) < 200e-6 {
		t.Errorf("%d values, median %v, error %v", len(values), median(values), err)
	}
}

func TestPerCall_refuses_to_time_a_wrong_answer(t *testing.T) {
	n := 0
	if _, err := perCall(func() bool { n++; return n != 3 }, time.Millisecond); !errors.Is(err, errWrong) {
		t.Errorf("error = %v", err)
	}
}

func TestMemory_of_this_process_is_known(t *testing.T) {
	if peak := ownPeak(); peak < 1<<20 || peak > 1<<40 {
		t.Errorf("peak = %d bytes", peak)
	}
	if spent := ownTime(); spent <= 0 {
		t.Errorf("processor time = %v", spent)
	}
}
