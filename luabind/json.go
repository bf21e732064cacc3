package luabind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// jsonTable is flower.json. A list that was decoded stays a list when it is
// empty; an empty table that the script made is an object, unless
// flower.json.array made it a list.
func (s *state) jsonTable() *lua.LTable {
	t := s.L.CreateTable(0, 3)
	t.RawSetString("encode", s.L.NewFunction(func(L *lua.LState) int {
		text, err := s.encodeJSON(L.CheckAny(1), lua.LVAsBool(L.Get(2)))
		return pushResult(L, lua.LString(text), err)
	}))
	t.RawSetString("decode", s.L.NewFunction(func(L *lua.LState) int {
		value, err := decodeJSON(L.CheckString(1))
		if err != nil {
			return pushResult(L, lua.LNil, err)
		}
		return pushResult(L, s.toLua(value), nil)
	}))
	t.RawSetString("array", s.L.NewFunction(func(L *lua.LState) int {
		list := L.OptTable(1, nil)
		if list == nil {
			list = L.CreateTable(0, 0)
		}
		if list.Metatable != lua.LNil && list.Metatable != lua.LValue(s.arrayMeta) {
			s.misuse(L, "flower.json.array: this table has a metatable already")
		}
		L.SetMetatable(list, s.arrayMeta)
		L.Push(list)
		return 1
	}))
	return t
}

// pushResult returns a value, or nil and the error's text.
func pushResult(L *lua.LState, v lua.LValue, err error) int {
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	L.Push(v)
	return 1
}

// encodeJSON writes names in alphabetical order; indent asks for lines.
func (s *state) encodeJSON(v lua.LValue, indent bool) (string, error) {
	plain, err := s.fromValue(v)
	if err != nil {
		return "", err
	}
	if plain, err = jsonNumbers(plain); err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(plain); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// jsonNumbers writes whole numbers without an exponent, and refuses those JSON
// does not have.
func jsonNumbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("JSON has no infinite numbers and no nan")
		}
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	case []any:
		for i := range v {
			if v[i], err = jsonNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = jsonNumbers(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func decodeJSON(text string) (any, error) {
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON value")
	}
	return value, nil
}

// checkJSON refuses a text that would become more tables than a script may have.
// It counts what begins a value and how deep they are, and leaves it to the
// decoder what is right.
func checkJSON(text string) error {
	if len(text) > maxJSON {
		return fmt.Errorf("the text has %d bytes; at most %d are decoded", len(text), maxJSON)
	}
	values, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			values++
			depth++
		case ']', '}':
			depth--
		case ',':
			values++
		}
		if depth > maxDepth {
			return fmt.Errorf("is nested more than %d deep", maxDepth)
		}
		if values > maxNodes {
			return fmt.Errorf("holds more than %d values", maxNodes)
		}
	}
	return nil
}
