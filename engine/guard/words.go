package guard

import "fmt"

// words is one text in the languages that flower speaks.
type words struct{ en, zh string }

func say(lang string, w words) string {
	if lang == "zh" {
		return w.zh
	}
	return w.en
}

func deny(lang string, w words, args ...any) Decision {
	return Decision{Action: Deny, Reason: fmt.Sprintf(say(lang, w), args...)}
}

var (
	// denyWhitelist: tool, agent, what is offered.
	denyWhitelist = words{
		en: "%s is not available to %s, and that is intended: do not look for a way round. Work with %s, and put what you conclude into your reply.",
		zh: "%s 不对 %s 开放，这是有意的安排：不要设法绕过。请使用 %s，并把结论写进你的回复。",
	}
	noTools = words{en: "no tools", zh: "（没有工具）"}

	// denyDelegate: tool, where long output goes.
	denyDelegate = words{
		en: "You do not call %s yourself. Dispatch a worker with Agent: give it the goal and how it is accepted, tell it to put long output into %s and to reply with the path and its conclusion only.",
		zh: "你不亲自调用 %s。请用 Agent 派一个工人：交代目标和验收方式，让它把长输出写到 %s，只回报路径和结论。",
	}
	// denyGlance: why the command is none, where long output goes.
	denyGlance = words{
		en: "Your shell is for a glance, and this is more: %s. Dispatch a worker with Agent: give it the goal and how it is accepted, tell it to put long output into %s and to reply with the path and its conclusion only.",
		zh: "你的命令行只用来看一眼，而这条不止于此：%s。请用 Agent 派一个工人：交代目标和验收方式，让它把长输出写到 %s，只回报路径和结论。",
	}
	artifactsSomewhere = words{en: "a file", zh: "文件"}

	// spilled: characters, path, characters that follow.
	spilled = words{
		en: "[%d characters are in %s; read or search that file for the rest. The first %d follow.]",
		zh: "[共 %d 个字符，已存到 %s；其余内容请读取或搜索该文件。以下是前 %d 个字符。]",
	}
)
