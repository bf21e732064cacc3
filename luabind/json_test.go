package luabind_test

import "testing"

func TestJSON_goes_both_ways(t *testing.T) {
	p := play(t, &echo{}, `
		local json = flower.json
		assert(require("flower.json") == json)
		local function same(text)
			local value, err = json.decode(text)
			assert(err == nil, err)
			assert(json.encode(value) == text, json.encode(value))
		end
		for _, text in ipairs{ '"x"', "1", "0.5", "-1e-7", "true", "false", "[]", "{}", "[1,2]", '{"a":1}', "[[],{}]", '{"a":[],"b":{"c":[{}]}}',
			'"<&>"', [["\"\\\n\u0001é😀"]], "9007199254740991", "[true,false,1,\"x\"]", "1e+300", "123456789012" } do
			same(text)
		end
		assert(json.encode(json.decode("null")) == "null" and json.decode("null") == nil)
		assert(json.encode({ b = 1, a = 2 }) == '{"a":2,"b":1}')
		assert(json.encode({}) == "{}" and json.encode(json.array()) == "[]" and json.encode(json.array{}) == "[]")
		assert(json.encode({ list = json.array{ 1 } }) == '{"list":[1]}')
		assert(json.encode({ a = { 1, { b = 2 } } }, true) == '{\n  "a": [\n    1,\n    {\n      "b": 2\n    }\n  ]\n}')
		assert(json.encode(3) == "3" and json.encode(-0.25) == "-0.25" and json.encode(2^53) == "9007199254740992")
		local kept = json.decode('{"list": []}')
		assert(json.encode(kept) == '{"list":[]}' and #kept.list == 0)
		kept.list[1] = "added"
		assert(json.encode(kept) == '{"list":["added"]}')
		local shared = { 1 }
		assert(json.encode({ shared, shared }) == "[[1],[1]]")`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestJSON_refuses_in_words(t *testing.T) {
	p := play(t, &echo{}, `
		local json = flower.json
		local function fails(part, fn, ...)
			local value, err = fn(...)
			assert(value == nil and err:find(part, 1, true), tostring(err))
		end
		fails("invalid character", json.decode, "{a}")
		fails("unexpected EOF", json.decode, "[1")
		fails("EOF", json.decode, "")
		fails("more behind", json.decode, "1 2")
		fails("nested more than 200 deep", json.decode, ("["):rep(300) .. ("]"):rep(300))
		fails("JSON has no infinite numbers and no nan", json.encode, 0/0)
		fails("JSON has no infinite numbers and no nan", json.encode, { a = { -math.huge } })
		fails("not plain data: a function", json.encode, print)
		fails("a: b: [2]: not plain data: a function", json.encode, { a = { b = { 1, print } } })
		fails("both a list and has named fields", json.encode, { 1, a = 2 })
		fails("a list with holes", json.encode, { [3] = 1 })
		fails("the key 0.5, which is a number", json.encode, { [0.5] = 1 })
		fails("the key true, which is a boolean", json.encode, { [true] = 1 })
		fails("not plain data: a runtime", json.encode, { flower.runtime })
		local t = {}
		t.t = t
		fails("does one contain itself?", json.encode, t)
		fails("not plain data: a thread", json.encode, coroutine.create(function() end))
		assert(not pcall(json.decode) and not pcall(json.encode) and not pcall(json.array, 5))
		assert(not pcall(json.array, setmetatable({}, {})))`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}

func TestJSON_deep_but_not_too_deep_goes_both_ways(t *testing.T) {
	p := play(t, &echo{}, `
		local text = ("["):rep(199) .. ("]"):rep(199)
		assert(flower.json.encode(flower.json.decode(text)) == text)`, nil)
	if p.err != nil {
		t.Error(p.err)
	}
}
