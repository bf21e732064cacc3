package anthropic

import (
	"strings"

	"github.com/flowerlua/flower/engine/model"
)

// PricesDate is the day as of which the table was right. Source: the provider's
// price list, by way of two published catalogues whose prices agree where both
// have a model: charm.land/catwalk v0.52.86 (2026-10-28) and
// @pydantic/genai-prices 0.1.8 (2026-09-23). Where their windows differ (the 4.6
// models) the one that names the day of the change (2026-03-13) was taken. Models
// without a published price are left out: not known is not free.
const PricesDate = "2026-10-28"

// entry is one line of the table: prices in US dollars a million tokens, sizes in
// tokens. Keeping a prefix costs 1.25 times the input for five minutes, twice the
// input for an hour, on all models; what reading it costs differs.
type entry struct {
	name      string
	input     float64
	output    float64
	cacheRead float64
	window    int64
	maxOutput int
}

var table = []entry{
	{"claude-fable-5-1", 10, 50, 0.25, 1_000_000, 128_000},
	{"claude-fable-5", 10, 50, 1, 1_000_000, 128_000},
	{"claude-mythos-5-1", 10, 50, 0.25, 1_000_000, 128_000},
	{"claude-mythos-5", 10, 50, 1, 1_000_000, 128_000},
	{"claude-opus-5-5", 4, 20, 0.2, 1_000_000, 128_000},
	{"claude-opus-5", 5, 25, 0.5, 1_000_000, 128_000},
	{"claude-opus-4-8", 5, 25, 0.5, 1_000_000, 128_000},
	{"claude-opus-4-7", 5, 25, 0.5, 1_000_000, 128_000},
	{"claude-opus-4-6", 5, 25, 0.5, 1_000_000, 128_000},
	{"claude-opus-4-5", 5, 25, 0.5, 200_000, 64_000},
	{"claude-sonnet-5-5", 2, 10, 0.1, 1_000_000, 128_000},
	{"claude-sonnet-5", 2, 10, 0.2, 1_000_000, 128_000},
	{"claude-sonnet-4-6", 3, 15, 0.3, 1_000_000, 128_000},
	{"claude-sonnet-4-5", 3, 15, 0.3, 200_000, 64_000},
	{"claude-haiku-4-5", 1, 5, 0.1, 200_000, 64_000},
}

// lookup finds a model in the table, by its name or by its name and the day of
// its release: claude-opus-4-5-20251101.
func lookup(name string) (model.Info, bool) {
	base := name
	if head, day, ok := cutLast(name, "-"); ok && len(day) == 8 && strings.Trim(day, "0123456789") == "" {
		base = head
	}
	for _, e := range table {
		if e.name != base {
			continue
		}
		price := model.Price{
			Input: e.input, Output: e.output, CacheRead: e.cacheRead,
			CacheWrite: 1.25 * e.input, CacheWrite1h: 2 * e.input,
		}
		return model.Info{Name: name, Window: e.window, MaxOutput: e.maxOutput, Price: &price}, true
	}
	return model.Info{}, false
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
