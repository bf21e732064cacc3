package luabind_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/harness/native"
)

func TestJSON_at_the_edges_of_what_numbers_and_texts_can_be(t *testing.T) {
	script(t, `
		local json = flower.json
		local function decodes(text, want)
			local value, err = json.decode(text)
			assert(err == nil and value == want, text .. ": " .. tostring(value) .. " " .. tostring(err))
		end
		decodes("9007199254740993", 2^53)           -- beyond what a number holds exactly
		decodes("12345678901234567890", 12345678901234567890)
		decodes("-0", 0)
		decodes("1e308", 1e308)
		decodes("4.9e-324", 4.9e-324)
		decodes('"\\ud83d\\ude00"', "😀")
		decodes('"\\u00e9"', "é")
		decodes('  "x"  ', "x")
		assert(json.encode(2^63) == "9223372036854776000" and json.encode(1e21) == "1e+21" and json.encode(-2^53) == "-9007199254740992")
		assert(json.decode(json.encode("\255\254")) == "\239\191\189\239\191\189") -- bytes that are no text
		assert(json.decode('{"a":1,"a":2}').a == 2 and json.decode('{"":1}')[""] == 1)
		assert(json.encode({ ["é"] = "日本", [""] = 1 }) == '{"":1,"é":"日本"}')
		for _, text in ipairs{ "1e999", "01", "+1", ".5", "NaN", "Infinity", "'x'", '"\t"', "[1,]", "{'a':1}", "nul" } do
			local value, err = json.decode(text)
			assert(value == nil and err ~= "", text .. " is taken")
		end`)
}

func TestJSON_is_bounded(t *testing.T) {
	script(t, `
		local json = flower.json
		local function fails(part, fn, ...)
			local value, err = fn(...)
			assert(value == nil and err:find(part, 1, true), tostring(err))
		end
		fails("at most 16777216 are decoded", json.decode, '"' .. ("x"):rep(2^24 + 1) .. '"')
		local wide = { 1 }
		for _ = 1, 30 do wide = { wide, wide } end -- small, and a huge tree
		fails("more than", json.encode, wide)
		local long = ("x"):rep(2^25)
		fails("MiB", json.encode, { long, long, long })
		local deep = {}
		for _ = 1, 250 do deep = { deep } end
		fails("nested more than 200 deep", json.encode, deep)
		local ring = { {} }
		ring[1].back = ring
		fails("does one contain itself?", json.encode, ring)`)
}

func TestFS_names_and_contents_in_every_script(t *testing.T) {
	p := script(t, `
		local fs = flower.fs
		local name = "données/資料 ☂/naïve – 'quoted' $HOME.md"
		assert(fs.write(name, "日本\r\nzwei\0drei"))
		assert(fs.read(name) == "日本\r\nzwei\0drei" and fs.exists(name))
		assert(fs.list("données")[1] == "資料 ☂" and fs.glob("**/*.md")[1] == name and fs.glob("données/*/na*")[1] == name)
		assert(fs.append(name, "é") and #fs.read(name) == #"日本\r\nzwei\0dreié")
		for _, bad in ipairs{ "", " \0", "a\0b" } do
			local ok, value, err = pcall(fs.write, bad, "x")
			assert(not ok or value == nil and err ~= "", ("%q is taken"):format(bad))
		end
		for _, wrong in ipairs{ 0, true, {}, print } do
			if type(wrong) ~= "number" then assert(not pcall(fs.read, wrong), tostring(wrong)) end
			assert(type(wrong) == "number" or not pcall(fs.write, "x", wrong), tostring(wrong))
		end
		assert(not pcall(fs.write, "x") and not pcall(fs.read) and not fs.exists("x"))`)
	if _, err := os.Stat(filepath.Join(p.dir, "données", "資料 ☂", "naïve – 'quoted' $HOME.md")); err != nil {
		t.Error(err)
	}
}

func TestSh_wrong_options_are_named(t *testing.T) {
	for source, want := range map[string]string{
		`flower.sh()`:                              "flower.sh takes the command, a string, not a nil",
		`flower.sh("")`:                            "flower.sh takes the command",
		`flower.sh({})`:                            "not a table",
		`flower.sh("true", 3)`:                     "the options must be a table, are a number",
		`flower.sh("true", { timeout = 0 })`:       "timeout: must be more than 0 seconds",
		`flower.sh("true", { timeout = -1 })`:      "timeout: is -1; it must not be negative",
		`flower.sh("true", { timeout = "1" })`:     "timeout: must be a number, is a string",
		`flower.sh("true", { timeout = 1e10 })`:    "that is more than can be meant",
		`flower.sh("true", { timeout = 0/0 })`:     "timeout: ",
		`flower.sh("true", { dir = 3 })`:           "dir: must be a string",
		`flower.sh("true", { dir = "none" })`:      "dir: none: no such file",
		`flower.sh("true", { timout = 1, x = 1 })`: `timout: is not a field — did you mean "timeout"?`,
	} {
		_, err := run(t, source, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", source, err, want)
		}
	}
}

func TestSh_output_is_text_also_where_it_is_cut(t *testing.T) {
	p := script(t, `
		local r = flower.sh("i=0; while [ $i -lt 30000 ]; do printf '日本'; i=$((i+1)); done")
		assert(r.code == 0 and r.file and #r.output < 200000, #r.output)
		print(r.output)
		local bytes = flower.sh("printf '\\377\\376\\0x'")
		assert(bytes.code == 0 and bytes.output:find("x", 1, true))
		local quoted = flower.sh([[printf '%s' "it's \"quoted\" \$HOME é"]])
		assert(quoted.output == "it's \"quoted\" $HOME é", quoted.output)`)
	if len(p.printed) != 1 || !utf8.ValidString(p.printed[0]) || !strings.HasPrefix(p.printed[0], "日本") {
		t.Error("the output that was cut is no text")
	}
}

func TestDocuments_misuse_is_named(t *testing.T) {
	for source, want := range map[string]string{
		`flower.document.parse("breif", "x")`:                 `"breif" is no kind of document; there are brief, goal, verdict and handoff`,
		`flower.document.load("goal", "../goal.md")`:          "is outside the workspace",
		`flower.document.load("goal", 3)`:                     "takes a path, a string, as argument 2, not a number",
		`flower.document.write("x", "goal.md")`:               "argument 1 must be a document, is a string",
		`flower.document.write({ kind = "gaol" }, "goal.md")`: `the table's kind is "gaol"; a document has brief, goal, verdict or handoff`,
		`flower.document.markdown({})`:                        `the table's kind is ""`,
		`flower.document.feedback({ kind = "goal" })`:         "takes a verdict",
		`flower.document.amend({ kind = "brief" }, "x")`:      "takes a goal",
		`flower.document.append("/etc/flower-test", "x")`:     "is outside the workspace",
		`flower.document.save("", "x")`:                       "takes a path",
		`flower.document.find("goal", "/")`:                   "is outside the workspace",
		`flower.document.addition("title")`:                   "string expected",
		`assert(flower.document.load("goal", "none.md"))`:     "none.md",
		`assert(flower.document.text("none.md"))`:             "no such file",
		`assert(flower.document.find("goal", "."))`:           "there is no goal in",
		`flower.fs.write("f", "x") assert(flower.document.write(flower.document.parse("goal", "x"), "f/goal.md"))`: "f",
	} {
		_, err := run(t, source, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", source, err, want)
		}
	}
}

func TestDocuments_of_every_kind_go_both_ways(t *testing.T) {
	script(t, `
		local document = flower.document
		local docs = {
			brief = { goal = "a", accept = "b", bounds = "c", unknowns = "d" },
			goal = { statement = "s", checks = { "one", "two" } },
			verdict = { state = "not_yet", reason = "r", failed = { "one" } },
			handoff = { doing = "a", decided = "b", deadends = "c", next = "d", scene = "e", step = "work" },
		}
		for kind, fields in pairs(docs) do
			fields.kind = kind
			local path = kind .. ".md"
			assert(document.write(fields, path))
			local read = assert(document.load(kind, path, "work"))
			assert(read.kind == kind and read.complete and #read.missing == 0, kind)
			for name, value in pairs(fields) do
				local got = read[name]
				assert(type(value) == "table" and table.concat(got, "|") == table.concat(value, "|") or got == value, kind .. "." .. name .. ": " .. tostring(got))
			end
			local parsed = document.parse(kind, document.markdown(read), "work")
			assert(document.markdown(parsed) == document.markdown(read) and document.block(parsed) ~= "")
		end
		assert(document.feedback({ kind = "verdict", state = "achieved" }) == "")
		assert(document.feedback(document.parse("verdict", "## Conclusion\nnot achieved\n\n## Reason\nno title\n")):find("no title", 1, true))
		assert(document.file_name("verdict") == "" and document.file_name("handoff", "a/b"):find("handoff", 1, true))`)
}

func TestGuard_that_returns_nonsense_denies_and_names_its_place(t *testing.T) {
	for source, want := range map[string]string{
		`return 3`:                    "a guard must return true or nothing, false and a reason, or the new input; it returned number",
		`return "no"`:                 "it returned string",
		`return false`:                "a guard must return false and a reason to deny; it returned boolean, nil",
		`return false, ""`:            "false and a reason to deny",
		`return false, {}`:            "it returned boolean, table",
		`return { 1, [3] = 2 }`:       "the new input as plain data",
		`return { f = print }`:        "not plain data: a function",
		`error("guard is off")`:       "guard is off",
		`return nil + 1`:              "test.lua:4",
		`local x = call.input.none.x`: "test.lua:4",
	} {
		model := rehearse(t, `return function(turn)
			if turn.turn == 1 then return { tool = "Bash", input = { command = "touch made" } } end
			return turn.messages[#turn.messages].results[1].is_error and "denied" or "allowed"
		end`)
		p := play(t, native.New(native.Config{Model: model}), `
local agent = flower.agent{ name = "a", allowed_tools = { "Bash" }, hooks = { flower.guard{ on = "before",
check = function(call)
`+source+` end } } }
return flower.workflow{ steps = { flower.step{ name = "s", spec = agent, prompt = "p" } } }`, nil)
		text, _ := p.ending.Context.Get("s")
		errors := strings.Join(p.errors, "\n")
		if p.err != nil || text != "denied" || !strings.Contains(errors, want) || !strings.Contains(errors, "test.lua:") {
			t.Errorf("%s: %v, %v, %s\nwant %s", source, p.err, text, errors, want)
		}
		if _, err := os.Stat(filepath.Join(p.dir, "made")); err == nil {
			t.Errorf("%s: the call was made", source)
		}
	}
}

func TestGuard_after_a_call_may_be_wrong_and_the_reply_stays(t *testing.T) {
	for source, want := range map[string]string{
		`return print`:           "nothing, or the new value as plain data",
		`error("off")`:           "off",
		`return reply.value.x.y`: "test.lua:",
	} {
		model := rehearse(t, `return function(turn)
			if turn.turn == 1 then return { tool = "Bash", input = { command = "echo plain" } } end
			return turn.messages[#turn.messages].results[1].text
		end`)
		p := play(t, native.New(native.Config{Model: model}), `
local agent = flower.agent{ name = "a", allowed_tools = { "Bash" }, hooks = { flower.guard{ on = "after", check = function(call, reply)
`+source+` end } } }
return flower.workflow{ steps = { flower.step{ name = "s", spec = agent, prompt = "p" } } }`, nil)
		text, _ := p.ending.Context.Get("s")
		if errors := strings.Join(p.errors, "\n"); p.err != nil || !strings.Contains(text.(string), "plain") || !strings.Contains(errors, want) {
			t.Errorf("%s: %v, %v, %s\nwant %s", source, p.err, text, errors, want)
		}
	}
}
