package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

// session is a transcript as a long run makes it: replies with thinking, text and a
// call, results short and long, now and then a denial, an API error, a prompt.
func session(t testing.TB, n int) []transcript.Entry {
	commands := []string{"git status -s && git log --oneline -5", "ls -la engine", "go test ./engine/...", "make check", "grep -rn View engine | head -20"}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	lines := make([]string, 0, n)
	parent := "null"
	for i := range n {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		var fields string
		switch turn := i / 2; {
		case i%2 == 0 && turn%40 == 39:
			fields = `"type":"assistant","isApiErrorMessage":true,"message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}`
		case i%2 == 1 && turn%40 == 39:
			fields = `"type":"user","message":{"role":"user","content":"Go on with what is left of the task."}`
		case i%2 == 0:
			fields = fmt.Sprintf(`"type":"assistant","requestId":"req_%d","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[`+
				`{"type":"thinking","thinking":%q,"signature":%q},{"type":"text","text":"Let me look."},`+
				`{"type":"tool_use","id":"toolu_%08d","name":"Bash","input":{"command":%q,"description":"look %d"}}],`+
				`"usage":{"input_tokens":4,"cache_read_input_tokens":%d,"cache_creation_input_tokens":900,"output_tokens":120}}`,
				i, i, strings.Repeat("What is there to do? ", 15), strings.Repeat("c2lnbmF0dXJl", 30), turn, commands[turn%len(commands)], i, 1000*turn)
		default:
			size := []int{80, 400, 2500, 1200, 6000}[turn%5]
			fields = fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%08d","type":"tool_result","content":%q,"is_error":%v}]},"toolUseResult":{"stdout":"…"}`,
				turn, strings.Repeat("line of output\n", size/15), turn%50 == 7)
			if turn%50 == 7 {
				fields += `,"toolDenialKind":"permission-rule"`
			}
		}
		lines = append(lines, fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/me/project","sessionId":"00000000-0000-4000-8000-000000000000",`+
			`"version":"2.1.197","gitBranch":"trunk",%s,"uuid":%q,"timestamp":%q}`, parent, fields, uuid, start.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano)))
		parent = `"` + uuid + `"`
	}
	return parseAll(t, lines...)
}

var sizes = []int{5_000, 50_000}

func cleaning() transcript.Policy {
	return transcript.Policy{
		Expire: transcript.ExpirePolicy{Enabled: true, KeepRecent: 6},
		Trim:   transcript.TrimPolicy{Enabled: true, KeepRecent: 20},
		Prune:  transcript.PrunePolicy{DropAPIErrors: true, NeutralizeInterrupts: true, HealOrphans: true, KeepDenials: 1},
	}
}

func BenchmarkView(b *testing.B) {
	for _, n := range sizes {
		entries := session(b, n)
		policy := cleaning()
		_, report := transcript.View(entries, policy)
		again := policy
		again.Repeat = &report.Decisions
		noTrim := policy
		noTrim.Trim.Enabled = false
		for name, p := range map[string]transcript.Policy{"anew": policy, "anew without trim": noTrim, "repeated": again} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					transcript.View(entries, p)
				}
				perEntry(b, n)
			})
		}
	}
}

func BenchmarkLive(b *testing.B) {
	for _, n := range sizes {
		entries := session(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := transcript.Live(entries, ""); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, n)
		})
	}
}

func perEntry(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
}

func BenchmarkParse(b *testing.B) {
	entries := session(b, 5_000)
	size := 0
	for _, e := range entries {
		size += len(e.Raw)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range entries {
			if _, err := transcript.Parse(e.Raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkHeader(b *testing.B) {
	entries := session(b, 5_000)
	forms := make([][]byte, len(entries))
	b.Run("marshal/5000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range entries {
				forms[i], _ = entries[i].MarshalBinary()
			}
		}
	})
	b.Run("unmarshal/5000", func(b *testing.B) {
		b.ReportAllocs()
		var h transcript.Header
		for b.Loop() {
			for _, form := range forms {
				if err := h.UnmarshalBinary(form); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
