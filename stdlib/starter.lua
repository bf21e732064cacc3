--- The starter: clarify, set a goal, work under a judge. `flower "make me X"` runs
--- it; copy it and change what you like.

local flower = require("flower")
local clarify = require("flower.clarify")
local goals = require("flower.goal")
local document = flower.document

local words = ({
  en = {
    work = "work", coordinator = "coordinator", coder = "Implements, runs and checks. Give it one task with its acceptance.",
    worker = "You implement. After each change run the check that covers it.",
    question_log = "qa.md",
    keep_going = "Go on with the work. Look at what is there first.",
    more = "The person adds:\n\n%s\n\nThe goal was set anew. Its checks are now:\n%s",
    added = "Added by the person (%s)",
    ask_what = 'say what is to be made, for example: flower "a command line tool that counts the words in a file"',
    needs_git = "isolate needs a git repository: run git init and commit once, or leave isolate out",
    session = "What the person asks for:\n\n%s",
  },
  zh = {
    work = "干活", coordinator = "协调者", coder = "写代码、运行、检查。一次给一件任务和它的验收方式。",
    worker = "你负责实现。每次改动之后运行覆盖它的检查。",
    question_log = "问答记录.md",
    keep_going = "继续干活。先看看现在有什么。",
    more = "对方补充：\n\n%s\n\n目标已重新设定，检查项现在是：\n%s",
    added = "补充要求（%s）",
    ask_what = '请说要做什么，例如：flower "一个统计文件词数的命令行工具"',
    needs_git = "isolate 需要 git 仓库：先 git init 并提交一次，或者不用 isolate",
    session = "对方要的是：\n\n%s",
  },
})[flower.lang]

local M = {}

--- Where the starter keeps things; makes nothing unless asked to.
local function places(o, make)
  local bench = flower.workbench{ outside = o.isolate, make = make }
  local notes = bench.notes
  return {
    bench = bench,
    brief = o.brief_path or document.find("brief", notes) or notes .. "/" .. document.file_name("brief"),
    goal = o.goal_path or document.find("goal", notes) or notes .. "/" .. document.file_name("goal"),
    questions = o.question_log or notes .. "/" .. words.question_log,
    asks = notes .. "/asks.json",
    archive = notes .. "/archive",
  }
end

local options = {
  "ask", "new", "isolate", "clarify_only", "goal", "rounds", "judge_can_run", "max_asks", "timeout_s", "instructions", "worker_prompt",
  "brief_path", "goal_path", "question_log",
}

--- What was asked for so far: {ask, first, more, done}. It is how the same command,
--- run again after a crash, is told from one more thing. first: the brief is made
--- from it; more: the session that makes the brief had begun already.
local function load_asks(at)
  return flower.json.decode(document.text(at.asks) or "[]") or {}
end

local function save_asks(at, asks)
  assert(document.save(at.asks, flower.json.encode(flower.json.array(asks), true) .. "\n"))
end

local function find_ask(asks, text)
  for _, entry in ipairs(asks) do
    if entry.ask == text then
      return entry
    end
  end
end

--- What a run in this workspace would find: {waking, brief, goal, checks, woke,
--- steps}. Takes the starter's options and writes nothing.
function M.wake_state(o)
  o = o or {}
  flower.fields("wake_state", o, {}, options)
  local at = places(o, false)
  local brief = document.load("brief", at.brief)
  local goal = document.load("goal", at.goal)
  local lineage = flower.lineage()
  local waking = brief ~= nil and brief.complete
  return {
    waking = waking,
    brief = waking and brief or nil,
    goal = goal and goal.complete and goal or nil,
    checks = goal and #goal.checks or 0,
    woke = lineage.woke,
    steps = lineage.steps,
  }
end

--- Notes what is asked before there is a brief. The ask that was noted last is the
--- same command, run again.
local function note_first(at, asks, ask)
  local last = asks[#asks]
  if last and last.ask == ask and not last.done then
    return
  end
  local begun = flower.lineage().steps[clarify.name] ~= nil
  asks[#asks + 1] = { ask = ask, first = true, more = begun or nil, done = false }
  save_asks(at, asks)
end

--- The asks that the brief is to be made from; with more_only those that a session
--- which goes on was not begun with. nil: there is none.
local function open_asks(at, more_only)
  local texts = {}
  for _, entry in ipairs(load_asks(at)) do
    if entry.first and not entry.done and (entry.more or not more_only) then
      texts[#texts + 1] = entry.ask
    end
  end
  return texts[1] and table.concat(texts, "\n\n")
end

--- Notes an ask. Those before there is a brief are what it is made from. A later one
--- is appended to the brief, once, and is returned until the work that it asks for
--- has passed: so a crash in between loses nothing of it.
local function take(at, ask, waking)
  if ask == "" then
    return nil
  end
  local asks = load_asks(at)
  if not waking then
    note_first(at, asks, ask)
    return nil
  end
  local entry = find_ask(asks, ask)
  local brief = document.text(at.brief)
  if not entry and brief:find(ask, 1, true) then
    return nil -- the words stand there already
  end
  if not entry then
    entry = { ask = ask, first = false, done = false }
    asks[#asks + 1] = entry
    save_asks(at, asks)
  end
  if not entry.first and not brief:find(ask, 1, true) then
    local title = words.added:format(os.date("%Y-%m-%d %H:%M:%S"))
    assert(document.append(at.brief, document.addition(title, ask)))
  end
  if entry.first or entry.done then
    return nil
  end
  return ask
end

--- The work has passed: what was asked for is done.
local function all_done(at)
  local asks = load_asks(at)
  for _, entry in ipairs(asks) do
    entry.done = true
  end
  save_asks(at, asks)
end

local function list(checks)
  return "- " .. table.concat(checks, "\n- ")
end

local function work_step(at, o, channel, added)
  local function goal_of(ctx) -- a restored run has it on disk only
    return ctx._goal or o.goal ~= false and document.load("goal", at.goal) or nil
  end
  local function whole(ctx)
    local parts = { ctx[clarify.name] }
    if goal_of(ctx) then
      parts[#parts + 1] = document.block(goal_of(ctx))
    end
    return table.concat(parts, "\n\n")
  end

  local step = flower.step{
    name = words.work,
    spec = flower.coordinator{
      name = words.coordinator,
      instructions = o.instructions,
      channel = channel,
      workers = {
        coder = flower.worker{ description = words.coder, prompt = o.worker_prompt or words.worker, isolate = o.isolate },
      },
    },
    prompt = whole,
    resume_prompt = function(ctx)
      if added then
        local goal = goal_of(ctx)
        return words.more:format(added, goal and list(goal.checks) or "")
      end
      return words.keep_going
    end,
    reduce = function(result)
      all_done(at)
      return result.text
    end,
  }
  if o.goal == false then
    return step
  end
  return goals.with_goal(step, { channel = channel, goal_path = at.goal, rounds = o.rounds, can_run = o.judge_can_run })
end

--- The workflow. o.ask is what to make, or, in a workspace that has a brief, one
--- more thing. Other options: new, isolate, clarify_only, goal (false: no judge),
--- rounds, judge_can_run, max_asks, timeout_s (1800), instructions, worker_prompt,
--- brief_path, goal_path, question_log.
function M.starter(o)
  flower.fields("starter", o, {}, options)
  local ask = o.ask and o.ask:match("^%s*(.-)%s*$") or ""
  if o.isolate and not flower.system().git then
    error({ code = "usage", message = words.needs_git })
  end
  local at = places(o, false)
  if o.new then
    assert(flower.archive(at.archive, at.brief, at.goal, at.asks))
  end
  local waking = M.wake_state(o).waking
  if not waking and ask == "" then
    error({ code = "usage", message = words.ask_what })
  end
  at.bench = places(o, true).bench

  local added = take(at, ask, waking)
  local channel = flower.channel{
    max_asks = o.max_asks,
    timeout = o.timeout_s or 1800,
    log_path = at.questions,
    amend_path = at.brief,
  }
  local steps = {
    clarify.clarify_step{
      channel = channel, brief_path = at.brief, prompt = words.session:format(open_asks(at) or ask), more = open_asks(at, true),
    },
  }
  if not o.clarify_only then
    if o.goal ~= false then
      steps[#steps + 1] = goals.goal_step{
        channel = channel, goal_path = at.goal, always_set = added ~= nil, can_run = o.judge_can_run,
      }
    end
    steps[#steps + 1] = work_step(at, o, channel, added)
  end
  return flower.workflow{ name = "starter", channel = channel, workbench = at.bench, steps = steps }
end

return M
