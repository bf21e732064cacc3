package engine

import "fmt"

// What a session is told when it goes on. No error text ever enters a context:
// the model would treat it as a fault of its work.

// words is one text in the languages that flower speaks.
type words struct{ en, zh string }

func (w words) in(lang string) string {
	if lang == "zh" {
		return w.zh
	}
	return w.en
}

// cutOffNote is the prompt after a failed attempt or a crash.
var cutOffNote = words{
	en: "Your last turn was cut off before its end. Look at what is on disk now, then go on from there; do not start over.",
	zh: "你上一轮在结束之前被切断了。先看看磁盘上现在的状态，再从那里继续；不要从头再来。",
}

// The parts of the prompt after a person's interrupt.
var (
	interrupted = words{
		en: "A person interrupted you. Calls that were running then report that they were interrupted; that is because of the interruption, not because something in the environment failed. ",
		zh: "有人打断了你。当时正在执行的调用会报告被打断；那是因为这次打断，而不是环境出了故障。",
	}
	withoutWords = words{en: "They left no message: go on.", zh: "对方没有留言：请继续。"}
	withWords    = words{en: "They say:\n\n%s", zh: "对方说：\n\n%s"}
)

func interruptNote(lang, said string) string {
	if said == "" {
		return interrupted.in(lang) + withoutWords.in(lang)
	}
	return interrupted.in(lang) + fmt.Sprintf(withWords.in(lang), said)
}

// handoffText asks for the handoff document: tokens used, window.
var handoffText = words{
	en: `Your context is nearly full: %d of %d tokens are used. Another session will take over, and it will know nothing but what you write now.
Do no more work and call no tool. Write the handoff document, with exactly these sections:

## In progress
What is being done, and how far it is.

## Decided
What was decided, with the reason, so that nobody decides it again.

## Dead ends
What was tried and does not work, and why.

## Next step
The very next thing to do, so that it can be done at once.

## Scene
Paths: files that were changed, notes, scripts, long outputs. No contents.`,
	zh: `你的上下文快满了：%[2]d 个 token 的窗口已用 %[1]d 个。接下来由另一个会话接手，它只知道你现在写下的内容。
不要再做事，也不要调用工具。请写交接文档，且只含以下几节：

## 现在在做什么
正在做什么，做到哪一步。

## 已经定下的
已经做出的决定及其理由，免得有人再定一次。

## 走不通的路
试过而行不通的，以及为什么。

## 下一步
紧接着要做的那一件事，写到拿来就能做。

## 现场
路径：改过的文件、笔记、脚本、长输出。不要贴内容。`,
}

func handoffPrompt(lang string, used, window int64) string {
	return fmt.Sprintf(handoffText.in(lang), used, window)
}
