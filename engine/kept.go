package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowerlua/flower/engine/event"
)

// How values of a Context outlive their process: as JSON, beside the Go types that
// JSON does not tell.

// keptTypes read a value of a Go type, by the type's name, from JSON.
var keptTypes = map[string]func(json.RawMessage) (any, error){
	"int": readAs[int], "int8": readAs[int8], "int16": readAs[int16], "int32": readAs[int32], "int64": readAs[int64],
	"uint": readAs[uint], "uint8": readAs[uint8], "uint16": readAs[uint16], "uint32": readAs[uint32], "uint64": readAs[uint64],
	"float32": readAs[float32], "time.Time": readAs[time.Time], "time.Duration": readAs[time.Duration],
	"[]uint8": readAs[[]byte], "[]string": readAs[[]string], "[]bool": readAs[[]bool],
	"[]int": readAs[[]int], "[]int64": readAs[[]int64], "[]float64": readAs[[]float64],
	"map[string]string": readAs[map[string]string], "map[string]bool": readAs[map[string]bool],
	"map[string]int": readAs[map[string]int], "map[string]int64": readAs[map[string]int64], "map[string]float64": readAs[map[string]float64],
}

func readAs[T any](raw json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// deepest is how many tables in one another are kept: deeper ones hold themselves.
const deepest = 1000

// typesOf notes in types, by place in the value, what JSON does not tell of it; false
// where it holds something that cannot be kept.
func typesOf(v any, place string, depth int, types map[string]string) bool {
	switch v := v.(type) {
	case nil, string, bool, float64:
		return true
	case []any:
		for i, e := range v {
			if depth > deepest || !typesOf(e, place+"/"+strconv.Itoa(i), depth+1, types) {
				return false
			}
		}
		return true
	case map[string]any:
		for key, e := range v {
			if depth > deepest || !typesOf(e, place+"/"+url.PathEscape(key), depth+1, types) {
				return false
			}
		}
		return true
	}
	return known(v, place, types)
}

func known(v any, place string, types map[string]string) bool {
	name := fmt.Sprintf("%T", v)
	_, ok := keptTypes[name]
	if ok {
		types[place] = name
	}
	return ok
}

// restoreValue is the value of which typesOf noted the types.
func restoreValue(raw json.RawMessage, place string, types map[string]string) (v any, err error) {
	if read, ok := keptTypes[types[place]]; ok {
		return read(raw)
	}
	switch raw = bytes.TrimSpace(raw); {
	case bytes.HasPrefix(raw, []byte("[")):
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		out := make([]any, len(list))
		for i, e := range list {
			if out[i], err = restoreValue(e, place+"/"+strconv.Itoa(i), types); err != nil {
				return nil, err
			}
		}
		return out, nil
	case bytes.HasPrefix(raw, []byte("{")):
		var table map[string]json.RawMessage
		if err := json.Unmarshal(raw, &table); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(table))
		for key, e := range table {
			if out[key], err = restoreValue(e, place+"/"+url.PathEscape(key), types); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	err = json.Unmarshal(raw, &v)
	return v, err
}

// changes are what a step left in a context: new and changed values as JSON, and what
// JSON does not tell of them.
type changes struct {
	values map[string]json.RawMessage
	types  map[string]string
}

// changed is the data of a context that differs from when it was last asked. What the
// runner owns and the step's own value are left out. What cannot be kept is told once.
func (p *progress) changed(c Context, step string) changes {
	out := changes{map[string]json.RawMessage{}, map[string]string{}}
	if p.off {
		return out
	}
	size := 0
	for _, key := range c.Keys() {
		value, ok := c.Get(key)
		if strings.HasPrefix(key, "_") || key == step || !ok {
			continue
		}
		place, types := url.PathEscape(key), map[string]string{}
		if !typesOf(value, place, 0, types) {
			p.lost(c, step, key, value, fmt.Sprintf("a %T", value))
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			p.lost(c, step, key, value, "a value that JSON does not have")
			continue
		}
		seen := fmt.Sprint(string(raw), types)
		if p.seen[key] == seen {
			continue
		}
		if size+len(raw) > maxSnapshot {
			p.lost(c, step, key, value, fmt.Sprintf("more than the %d KiB that a step may leave", maxSnapshot>>10))
			continue
		}
		size += len(raw)
		p.seen[key] = seen
		out.values[key] = raw
		maps.Copy(out.types, types)
	}
	return out
}

// lost tells once that a later process will not find a value. Functions and handles
// are made again by whoever put them there before the run, or by its script.
func (p *progress) lost(c Context, step, key string, value any, why string) {
	again, _ := c.(Remaker)
	handle := slices.Contains([]reflect.Kind{reflect.Func, reflect.Chan, reflect.Pointer}, reflect.TypeOf(value).Kind())
	if p.told[key] || again != nil && again.Remakes(value) || handle && p.given[key] {
		return
	}
	p.told[key] = true
	p.tell(event.Event{Kind: event.Task, Step: step, Payload: map[string]any{"key": key}, Text: fmt.Sprintf(
		"%q of the context, as step %s left it, is not kept for a later process: it is %s", key, step, why)})
}
