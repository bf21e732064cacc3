package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

const todoSchema = `{"type":"object","properties":{
"todos":{"type":"array","description":"The whole list; it replaces the one before","items":{"type":"object","properties":{
"content":{"type":"string","description":"What is to be done"},
"status":{"type":"string","enum":["pending","in_progress","completed"]},
"activeForm":{"type":"string","description":"The same, as what is being done"}},
"required":["content","status"]}}},
"required":["todos"]}`

const (
	maxTodos     = 200
	maxTodoChars = 1000
)

func (s *Set) todoWrite(_ context.Context, c Call) Result {
	var in struct {
		Todos []Todo `json:"todos"`
	}
	if err := decode(c, &in, "todos"); err != nil {
		return inputError("TodoWrite", err)
	}
	if err := checkTodos(in.Todos); err != nil {
		return inputError("TodoWrite", err)
	}
	if s.o.OnTodos != nil {
		s.o.OnTodos(c.Agent, in.Todos)
	}
	count := map[string]int{}
	for _, t := range in.Todos {
		count[t.Status]++
	}
	return TextResult(fmt.Sprintf("the list is kept: %d completed, %d in progress, %d pending",
		count["completed"], count["in_progress"], count["pending"])).with(record{Todos: in.Todos})
}

func checkTodos(todos []Todo) error {
	if len(todos) > maxTodos {
		return fmt.Errorf("todos has %d entries; %d at most", len(todos), maxTodos)
	}
	for i, t := range todos {
		switch t.Status {
		case "pending", "in_progress", "completed":
		default:
			return fmt.Errorf("status %q of entry %d is not one of pending, in_progress, completed", t.Status, i+1)
		}
		if strings.TrimSpace(t.Content) == "" {
			return errors.New("an entry has no content")
		}
		if chars(t.Content)+chars(t.ActiveForm) > maxTodoChars {
			return fmt.Errorf("entry %d has more than %d characters", i+1, maxTodoChars)
		}
	}
	return nil
}
