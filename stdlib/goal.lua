--- A goal that is set before the work, and a judge that did none of it.
---
---   local goal = require("flower.goal")
---   local work = goal.with_goal(work_step, { channel = ch, goal_path = ".flower/notes/goal.md" })

local flower = require("flower")
local clarify = require("flower.clarify")
local document = flower.document

local words = ({
  en = {
    name = "goal",
    verdict = "%s·verdict#%d",
    set = "Set the goal for the following requirement. Do not rule on anything.",
    no_brief = "(There is no brief. Work from what is in the workspace.)",
    system = "What is known of this machine: %s/%s, shell %s, %s, on the PATH: %s.",
    git = "a git repository", no_git = "not a git repository",
    missing = "Sections are missing or empty: %s. Answer with both sections.",
    unverifiable = "%d of %d checks cannot be verified here; they stand in %s",
    rule = "Rule on the work as it stands now in the workspace. Do not set a goal.",
    no_goal = "(No goal was set. Judge by what was asked for, as far as you can find it out.)",
    vague = "The judge gave no clear conclusion. Go through the checks once more yourself and close what is open.",
    judge_failed = "The judge could not work: %s. Go through the checks yourself and close what is open.",
    no_runtime = "there is no runtime in the context, so nobody can judge",
    unreachable = "The judge says this cannot be verified here:\n%s\n\nWhat now?",
    accept = "Accept it and go on", change = "Change the goal", wrong = "The ruling is wrong, go on working",
    new_goal = "What should the goal be?",
    changed = "The person changed the goal: %s",
    unchanged = "The person wants another goal and has not said which. Go on towards the goal as it stands.",
    disagrees = "The person disagrees with the ruling: %s",
    nobody = "cannot be verified here: %s (the goal is in %s; nobody decided what to do)",
    stuck = "The judge said the same thing twice, and nothing changed in between:\n%s\n\nGo on all the same?",
    go_on = "Go on", stop = "Stop",
    says = "%s\n\nThe person says: %s",
    stopped = "the judge said the same thing twice, and nothing changed in between: %s",
  },
  zh = {
    name = "设定目标",
    verdict = "%s·判定#%d",
    set = "请为下面的需求定目标。不要做任何判定。",
    no_brief = "（没有需求文档。请根据工作区里的内容来定。）",
    system = "已知的环境：%s/%s，shell 是 %s，%s，PATH 上有：%s。",
    git = "是 git 仓库", no_git = "不是 git 仓库",
    missing = "以下章节缺失或为空：%s。请给出完整的两节。",
    unverifiable = "有 %d 条检查项（共 %d 条）在这里无法验证；见 %s",
    rule = "请对工作区里现在的成果做判定。不要定目标。",
    no_goal = "（没有定过目标。请尽量弄清要求是什么，据此判定。）",
    vague = "判定者没有给出明确的结论。请自己再过一遍检查项，把没完成的补上。",
    judge_failed = "判定者没能工作：%s。请自己过一遍检查项，把没完成的补上。",
    no_runtime = "上下文里没有运行时，没有人能判定",
    unreachable = "判定者说在这里无法验证：\n%s\n\n怎么办？",
    accept = "接受，继续往下", change = "修改目标", wrong = "判定不对，继续干",
    new_goal = "目标应该是什么？",
    changed = "对方修改了目标：%s",
    unchanged = "对方想换目标，但没有说换成什么。请朝现有的目标继续。",
    disagrees = "对方不同意这次判定：%s",
    nobody = "在这里无法验证：%s（目标见 %s；没有人决定怎么办）",
    stuck = "判定者两次说了同样的话，而其间什么都没有变：\n%s\n\n还要继续吗？",
    go_on = "继续", stop = "停下",
    says = "%s\n\n对方说：%s",
    stopped = "判定者两次说了同样的话，而其间什么都没有变：%s",
  },
})[flower.lang]

local M = {}

--- The name of the step in the run's language.
M.name = words.name

local function emit(ctx, text, payload)
  if ctx._on_event then
    ctx._on_event{ kind = "task", text = text, payload = payload }
  end
end

--- What a judge is made of, where no spec is given.
local judge_fields = { "instructions", "rules", "model", "effort", "max_turns", "max_budget_usd", "compact", "env", "hooks", "can_run" }

--- Looks through the options of a function: those of a judge, and its own.
local function check(what, o, own)
  for _, field in ipairs({ "channel", "name", "spec", unpack(judge_fields) }) do
    own[#own + 1] = field
  end
  flower.fields(what, o, { "goal_path" }, own)
  for _, field in ipairs(judge_fields) do
    if o.spec and o[field] ~= nil then
      error(what .. ": spec brings its own " .. field .. "; give one of them", 3)
    end
  end
end

local function judge(o, name)
  local fields = { name = name, channel = o.channel }
  for _, field in ipairs(judge_fields) do
    fields[field] = o[field]
  end
  return o.spec or flower.judge(fields)
end

local function system_facts()
  local s = flower.system()
  return words.system:format(s.os, s.arch, s.shell, s.git and words.git or words.no_git, table.concat(s.tools, ", "))
end

--- A step that leaves a complete goal in the file, in ctx._goal and, as a block
--- for prompts, under its name. A complete goal on disk skips it.
---
--- goal_path is required; channel, brief_key, name, always_set, retries (1), on_fail
--- and spec, or what a judge is made of, are not.
function M.goal_step(o)
  check("goal_step", o, { "brief_key", "always_set", "retries", "on_fail" })
  local name = o.name or words.name
  local brief_key = o.brief_key or clarify.name

  local function fill(ctx, goal)
    ctx._goal = goal
    ctx[name] = document.block(goal)
  end

  return flower.step{
    name = name,
    spec = judge(o, name),
    retries = o.retries or 1,
    on_fail = o.on_fail,

    prompt = function(ctx)
      return table.concat({ words.set, ctx[brief_key] or words.no_brief, system_facts() }, "\n\n")
    end,

    when = function(ctx)
      local goal = document.load("goal", o.goal_path)
      if o.always_set or not goal or not goal.complete then
        return true
      end
      fill(ctx, goal)
      return false
    end,

    gate = function(result, ctx)
      local goal = clarify.parse("goal", result)
      if not goal.complete then
        return false, words.missing:format(table.concat(goal.missing, ", "))
      end
      assert(document.write(goal, o.goal_path))
      fill(ctx, goal)
      local open = #goal.unverifiable
      if open > 0 then
        emit(ctx, words.unverifiable:format(open, #goal.checks, o.goal_path),
          { unverifiable = goal.unverifiable, total = #goal.checks, path = o.goal_path })
      end
      return true
    end,

    reduce = function(_, ctx)
      return document.block(ctx._goal)
    end,
  }
end

--- One ruling by a fresh judge: a verdict, or nil and why there is none.
local function rule(o, ctx, step_name, round, goal)
  local block = goal and document.block(goal) or words.no_goal
  local label = words.verdict:format(step_name, round)
  local result
  for _ = 1, 2 do -- a judge that fails has not ruled
    result = ctx._runtime:run(judge(o, label), words.rule .. "\n\n" .. block, { step_name = label })
    if result.ok then
      return clarify.parse("verdict", result)
    end
  end
  return nil, result.error
end

--- The person decides about a goal that cannot be verified here.
local function ask_person(o, ctx, goal, verdict)
  local reason = verdict.reason ~= "" and verdict.reason or verdict.state
  local where = o.goal_path
  if not o.channel then
    flower.abort(words.nobody:format(reason, where))
  end
  local answer, state = o.channel:ask(words.unreachable:format(reason), { words.accept, words.change, words.wrong })
  if state ~= "answered" then
    flower.abort(words.nobody:format(reason, where))
  end
  if answer == words.accept then
    return true
  end
  if answer ~= words.change then
    return false, words.disagrees:format(answer)
  end
  local new, answered = o.channel:ask(words.new_goal)
  if answered ~= "answered" then
    return false, words.unchanged
  end
  if goal then
    goal = document.amend(goal, new)
    assert(document.write(goal, where))
    ctx._goal = goal
  end
  return false, words.changed:format(new)
end

--- The person decides whether to go on where nothing changes: aborts, or gives the
--- reason with what else the person said.
local function ask_whether(o, reason)
  local answer, state
  if o.channel then
    answer, state = o.channel:ask(words.stuck:format(reason), { words.go_on, words.stop })
  end
  local plain = answer and answer:lower():match("^%s*(.-)[%s.!]*$")
  if state ~= "answered" or plain == words.stop:lower() then
    flower.abort(words.stopped:format(reason))
  end
  return plain == words.go_on:lower() and reason or words.says:format(reason, answer)
end

--- The step with a goal guard: a copy, every other field kept, whose gate is a
--- judge and whose rounds are bounded.
---
--- goal_path is required; channel, rounds (3), name and spec, or what a judge is made
--- of, are not.
function M.with_goal(step, o)
  check("with_goal", o, { "rounds" })
  local rounds = o.rounds or 3
  if rounds < 1 or rounds ~= math.floor(rounds) then
    error("rounds is " .. tostring(rounds) .. "; there is at least one", 2)
  end
  local name = o.name or step.name
  local last = {} -- the last rejection: its reason, and what the workspace was

  local function reject(ctx, verdict, reason)
    verdict.reason = reason
    verdict.state = "not_yet"
    ctx._verdict = verdict
    local hash = flower.workspace_hash()
    local again = last.reason == reason and last.hash == hash
    last = { reason = reason, hash = hash }
    if again then
      verdict.reason = ask_whether(o, reason)
      ctx._verdict = verdict
    end
    return false, verdict.reason
  end

  local copy = {}
  for key, value in pairs(step) do
    copy[key] = value
  end
  copy.retries = rounds - 1

  copy.gate = function(_, ctx)
    if not ctx._runtime then
      flower.abort(words.no_runtime)
    end
    ctx._goal_rounds = (ctx._goal_rounds or 0) + 1
    if ctx._goal_rounds == 1 then
      last = {} -- of an earlier run
    end
    local goal = ctx._goal
    if not goal or not goal.complete then
      goal = document.load("goal", o.goal_path)
    end
    if goal and not goal.complete then
      goal = nil
    end
    local verdict, failed = rule(o, ctx, name, ctx._goal_rounds, goal)
    if not verdict then
      return reject(ctx, document.parse("verdict", ""), words.judge_failed:format(failed))
    end
    ctx._verdict = verdict
    if verdict.state == "achieved" then
      return true
    end
    if verdict.state == "unreachable" then
      local pass, reason = ask_person(o, ctx, goal, verdict)
      if pass then
        return true
      end
      verdict.failed = {}
      return reject(ctx, verdict, reason)
    end
    return reject(ctx, verdict, verdict.reason ~= "" and verdict.reason or words.vague)
  end

  -- A round that failed is sent back what the one before it lacked.
  copy.on_reject = function(_, ctx)
    local ruled = (ctx._goal_rounds or 0) > 0 and ctx._verdict
    return ruled and document.feedback(ruled) or ""
  end

  return flower.step(copy)
end

return M
