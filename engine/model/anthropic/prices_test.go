package anthropic_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/model"
	"github.com/flowerlua/flower/engine/model/anthropic"
)

func isJSON(b []byte) bool { return json.Valid(b) }

func TestPrices_are_dated(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, anthropic.PricesDate); err != nil {
		t.Error(err)
	}
}

func TestPrices_give_the_cost_by_kind(t *testing.T) {
	c := anthropic.New(nil) // the table needs no credential
	million := model.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 2e6, CacheWrite1h: 1e6}
	for name, want := range map[string]float64{
		"claude-sonnet-5-5":         2 + 10 + 0.1 + 2.5 + 4,
		"claude-opus-5-5":           4 + 20 + 0.2 + 5 + 8,
		"claude-sonnet-4-5":         3 + 15 + 0.3 + 3.75 + 6,
		"claude-haiku-4-5-20251001": 1 + 5 + 0.1 + 1.25 + 2,
	} {
		info, err := c.Info(t.Context(), name)
		if err != nil || info.Price == nil {
			t.Fatalf("%s: %+v, %v", name, info, err)
		}
		if got := info.Price.Cost(million); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if info.Window < 200_000 || info.MaxOutput < 64_000 {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func TestPrices_of_unknown_models_are_not_guessed(t *testing.T) {
	c := anthropic.New(nil)
	for _, name := range []string{"claude-sonnet-9", "claude-sonnet-5-5-1m", "sonnet", "", "claude-opus-4-5-2025110"} {
		if info, err := c.Info(t.Context(), name); err == nil {
			t.Errorf("%s: %+v", name, info)
		}
	}
}
