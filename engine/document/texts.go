package document

// This file is data: what the documents say besides their fields, in the two
// languages that are written.

// Languages that documents are written in.
const (
	English = "en"
	Chinese = "zh"
)

// wording is everything written in one language.
type wording struct {
	titles       map[Kind]string // by kind of document
	notes        map[Kind]string // below the title of a file
	prompts      map[Kind]string // before the sections in a prompt
	forStep      string          // behind the title of a handoff: step
	inFile       string          // path
	notFilled    string
	none         string
	states       map[State]string
	feedback     map[State]string
	reason       string
	notPassed    string
	noReason     string
	closeGaps    string
	degraded     string // step, mark
	because      string // why
	degradedNext string
	taskBegins   string // number of characters
}

// wordings hold the texts by language.
var wordings = map[string]wording{
	English: {
		titles: map[Kind]string{
			KindBrief: "Brief", KindGoal: "Frozen goal", KindVerdict: "Ruling", KindHandoff: "Handoff",
		},
		notes: map[Kind]string{
			KindBrief:   "What was agreed with the person who asked. Edit it freely, but keep the headings: the next run reads them.",
			KindGoal:    "What the work is judged by. Edit it freely, but keep the headings: the judge reads them.",
			KindVerdict: "How the last round was judged.",
			KindHandoff: "Written by a session whose context was full, for the one that takes over. Edit it freely, but keep the headings.",
		},
		prompts: map[Kind]string{
			KindBrief:   "This brief was settled with the person who asked. It is the whole task: do what it says, stay inside its boundaries, and treat its assumptions as decided.",
			KindGoal:    "The work will be judged by this goal and its checks, by someone who looks at the result and not at what is said about it. It is done when every check holds.",
			KindVerdict: "The last round was judged like this.",
			KindHandoff: "You take over work in progress. The session before you ran out of context and left this document; you see nothing else of it. Go on from the next step: do not start over, do not try the dead ends again, and look at the files themselves before you change them.",
		},
		forStep:   " for the step %s",
		inFile:    "The same document lies in %s.",
		notFilled: "(not filled in)",
		none:      "(none)",
		states:    map[State]string{Achieved: "Achieved", NotYet: "Not yet", Unreachable: "Unreachable"},
		feedback: map[State]string{
			NotYet:      "The judge looked at the result: the goal is not achieved yet.",
			Unreachable: "The judge looked at the result: the goal cannot be reached or verified here as it stands.",
			"":          "The judge gave no clear ruling, so this round does not count as passed.",
		},
		reason:       "Reason: ",
		notPassed:    "Not passed:",
		noReason:     "No reason was given: go through the checks of the goal one by one and see which do not hold.",
		closeGaps:    "Close exactly these gaps and nothing else. What already passes must go on passing.",
		degraded:     "The step %s was in the middle of its work. %s",
		because:      "Reason: %s",
		degradedNext: "No next step was written down. Read the task under the scene, look at what is already on disk (changed files, notes, test results), and go on from there.",
		taskBegins:   "The task as it was given, first %d characters:",
	},
	Chinese: {
		titles: map[Kind]string{
			KindBrief: "需求确认书", KindGoal: "冻结的目标", KindVerdict: "裁决", KindHandoff: "交接",
		},
		notes: map[Kind]string{
			KindBrief:   "与提出需求的人商定的内容。可以随意修改,但请保留各节标题:下一次运行靠标题读取。",
			KindGoal:    "工作按这份文件来评判。可以随意修改,但请保留各节标题:裁判靠标题读取。",
			KindVerdict: "上一轮的评判结果。",
			KindHandoff: "上下文已满的会话写给接手者的文档。可以随意修改,但请保留各节标题。",
		},
		prompts: map[Kind]string{
			KindBrief:   "这份需求已经与提出者确认。任务的全部内容就在这里:照它做,不越过边界,其中的假设视为已定。",
			KindGoal:    "工作将按下面的目标和检查项评判,评判者只看结果,不听说法。每一条检查都成立才算完成。",
			KindVerdict: "上一轮的评判如下。",
			KindHandoff: "你接手一项进行中的工作。上一个会话的上下文已满,只留下这份文档,别的你都看不到。从下一步接着做:不要从头再来,不要重走走不通的路,改动文件之前先看文件本身。",
		},
		forStep:   ":步骤「%s」",
		inFile:    "同一份文档在 %s。",
		notFilled: "(未填)",
		none:      "(无)",
		states:    map[State]string{Achieved: "达成", NotYet: "未达成", Unreachable: "无法达成"},
		feedback: map[State]string{
			NotYet:      "裁判看过结果:目标尚未达成。",
			Unreachable: "裁判看过结果:目标照现在的样子在这里无法达成或无法验证。",
			"":          "裁判没有给出明确的结论,所以这一轮不算通过。",
		},
		reason:       "理由:",
		notPassed:    "未通过:",
		noReason:     "没有给出理由:请逐条核对目标的检查项,看哪些不成立。",
		closeGaps:    "只补上这些缺口,别的都不要动。已经通过的必须继续通过。",
		degraded:     "步骤「%s」做到一半。%s",
		because:      "原因:%s",
		degradedNext: "没有写下接着该做什么。先读后面的任务原文,再看磁盘上已有的东西(改过的文件、笔记、测试结果),然后从那里接着做。",
		taskBegins:   "任务原文(前 %d 个字符):",
	},
}

// in returns the wording of a language: Chinese for zh and its variants, else
// English.
func in(lang string) wording { return wordings[language(lang)] }

func language(lang string) string {
	if len(lang) >= 2 && (lang[:2] == "zh" || lang[:2] == "ZH") && (len(lang) == 2 || lang[2] == '-' || lang[2] == '_') {
		return Chinese
	}
	return English
}
