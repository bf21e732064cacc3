package failure_test

import (
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/failure"
)

func BenchmarkClassifyText(b *testing.B) {
	for name, text := range map[string]string{
		"transient": `529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`,
		"unknown":   `panic: runtime error: index out of range`,
		"page":      "<html><head><title>502 Bad Gateway</title></head>" + strings.Repeat("<p>the page of a gateway goes on</p>", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				failure.ClassifyText(text)
			}
		})
	}
}

func BenchmarkOverflow(b *testing.B) {
	text := "400 invalid_request_error: prompt is too long: 203112 tokens > 200000 maximum"
	for b.Loop() {
		failure.Overflow(text)
	}
}
