package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decode reads a call's input. Models now and then write a number or a truth
// value as a string: number and truth take both.
func decode(c Call, into any, required ...string) error {
	var given map[string]json.RawMessage
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := json.Unmarshal(input, &given); err != nil {
		return fmt.Errorf("the input is not a JSON object: %w", err)
	}
	for _, name := range required {
		if v, ok := given[name]; !ok || string(v) == "null" {
			return fmt.Errorf("%s is missing (given: %s)", name, names(given))
		}
	}
	err := json.Unmarshal(input, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s cannot be a %s", wrong.Field, wrong.Value)
	}
	return err
}

func names(given map[string]json.RawMessage) string {
	if len(given) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(given)), ", ")
}

// number is an integer, also written as 3.0 or "3".
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `" `)
	if text == "null" || text == "" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<40 || f < -1<<40 {
		return fmt.Errorf("%s is not a whole number", b)
	}
	*n = number(f)
	return nil
}

// truth is a boolean, also written as "true".
type truth bool

func (t *truth) UnmarshalJSON(b []byte) error {
	switch strings.Trim(string(b), `"`) {
	case "true":
		*t = true
	case "false", "null", "":
		*t = false
	default:
		return fmt.Errorf("%s is neither true nor false", b)
	}
	return nil
}

// inputError is the result of an input that cannot be used.
func inputError(tool string, err error) Result {
	return ErrorResult(fmt.Sprintf("input of %s: %v; correct it and call again", tool, err))
}
