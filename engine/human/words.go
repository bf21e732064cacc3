package human

// words is one text in the languages that flower speaks.
type words struct{ en, zh string }

func (w words) in(lang string) string {
	if lang == "zh" {
		return w.zh
	}
	return w.en
}

// noAnswer is what an agent reads that gets none. Each says: decide yourself,
// write the assumption down, do not ask again.
var noAnswer = map[State]words{
	TimedOut: {
		en: "Nobody answered in time. Decide yourself, write the assumption down, and do not ask this again.",
		zh: "没有人及时回答。请自己决定，把假设写下来，不要再问这个问题。",
	},
	Declined: {
		en: "The person leaves this to you. Decide yourself, write the assumption down, and do not ask this again.",
		zh: "对方把这件事留给你定。请自己决定，把假设写下来，不要再问这个问题。",
	},
	OverBudget: {
		en: "No more questions may be asked in this run. Decide yourself, write the assumption down, and do not ask again.",
		zh: "这次运行不能再提问了。请自己决定，把假设写下来，不要再问。",
	},
	Invalid: {
		en: "The question was empty, so nobody was asked. Decide yourself and write the assumption down, or ask a question that has words; do not ask an empty one again.",
		zh: "问题是空的，没有问任何人。请自己决定并把假设写下来，或者提一个有内容的问题；不要再提空问题。",
	},
}

var (
	interrupted = words{
		en: "The question was interrupted before it was answered; it stays open.",
		zh: "问题在得到回答之前被打断了；它仍然开着。",
	}
	noMail       = words{en: "The inbox is empty.", zh: "收件箱是空的。"}
	mailHeading  = words{en: "Mail", zh: "来信"}
	amendHeading = words{en: "Added by the person", zh: "补充要求"}
)
