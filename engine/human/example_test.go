package human_test

import (
	"context"
	"fmt"
	logger "log"

	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/engine/human"
)

// An agent asks, which blocks it; whoever hears the question answers.
func Example() {
	asked := make(chan string, 1)
	channel, err := human.New(human.Options{Sink: event.SinkFunc(func(e event.Event) {
		if e.Payload["state"] == string(human.Asked) {
			asked <- e.Payload["id"].(string)
		}
	})})
	if err != nil {
		logger.Fatal(err)
	}
	go func() { channel.Answer(<-asked, "8080") }()

	reply := channel.Ask(context.Background(), "call-1", "Which port?", []string{"80", "8080"})
	fmt.Println(reply.Question.ID, reply.Question.State, reply.Text)
	// Output: q1 answered 8080
}
