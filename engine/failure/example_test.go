package failure_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/flowerlua/flower/engine/failure"
)

func ExampleClassify() {
	for _, err := range []error{
		errors.New("dial tcp 160.79.104.10:443: connect: connection refused"),
		errors.New("Connection error: 401 Unauthorized"),
		errors.New("HTTP 429 retry-after: 400"),
		errors.New("429 spend limit reached"),
		errors.New("something odd happened"),
	} {
		fmt.Println(failure.Classify(err), "-", err)
	}
	// Output:
	// transient - dial tcp 160.79.104.10:443: connect: connection refused
	// fatal - Connection error: 401 Unauthorized
	// transient - HTTP 429 retry-after: 400
	// fatal - 429 spend limit reached
	// unknown - something odd happened
}

func ExampleOverflow() {
	fmt.Println(failure.Overflow("prompt is too long: 203112 tokens > 200000 maximum"))
	fmt.Println(failure.Overflow("context deadline exceeded"))
	// Output:
	// true
	// false
}

func ExamplePolicy() {
	policy := failure.Policy{}
	noJitter := func() float64 { return 0.5 }
	asked := failure.RetryAfter(errors.New("try again in 1m30s"))
	for n := 1; policy.Again(n, failure.Transient); n++ {
		fmt.Println(policy.Delay(n, noJitter, 0), policy.Delay(n, noJitter, asked).Round(time.Second))
	}
	// Output:
	// 4s 1m30s
	// 8s 1m30s
	// 16s 1m30s
	// 32s 1m30s
	// 1m4s 1m30s
}
