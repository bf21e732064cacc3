package failure

import (
	"net/http"
	"slices"
	"strings"
)

// tooBig is what servers say when a request does not fit.
var tooBig = fragments(
	// prompt is too long: 203112 tokens > 200000 maximum
	"prompt|input|inputs|context|conversation|dialogue|chat|history|transcript|messages|query length|text|size|token|tokens|total|of? #*? length|tokens? is|are|was|were|became|has? become? far|much|way? too long|large|big",
	"request is|was? too long",
	"message you? *? is|was too long",
	"prompt|input contains ~ too large|long|many",

	// context_length_exceeded, context window is full
	"context length|window|size|limit is|was|has|have|length|limit? been? exceed*|error|overflow*|reached",
	"context length|window|size|limit is full",
	"contextlength|contextwindow exceed*",
	"context overflow*",
	"exceed context size",
	"reached|reaches|hit|hits ~ context window|limit|length",

	// request exceeds the context window; longer than the model's context length
	"exceed|exceeds|exceeded|exceeding ~~ context window|limit|length|size",
	"greater|larger|longer|more|bigger than ~~ context window|limit|length|size",
	"exceed|exceeds|exceeded the|its? maximum|model|models context",
	"prompt|input length|size|token|tokens limit? is|has|was? been? exceeded|reached",
	"over|beyond the|its|your|this? models|model? context limit|length",
	"fit|fits in|into|within|inside ~ context window|limit|length",

	// maximum context length is 131072 tokens
	"max|maximum allowed|supported|total|model|input? context|prompt|input|sequence length|size|window|tokens|token|limit *? *? is|of|was|are|exceeded|reached|allowed only|now? #*",
	"max|maximum context|model|prompt length|size|window #*",

	// input length and max_tokens exceed context limit
	"input length and max output|new|completion? tokens ~ exceed*",
	"decrease|reduce|shorten the|your? input length",
	"please reduce|shorten|trim|decrease the|your? total? length|size|number|amount? of? tokens? in? the|your? messages|prompt|input|context|conversation",
	"range of input length should be",
	"string above max length",
	"string too long expected a string with maximum length",
	"input|inputs tokens? ~ max new tokens ~ must be",
	"inputs must have less than #* tokens",
	"too many total? text bytes",
)

// bodyTooBig is said of a request's body, and by some servers of a rate.
var bodyTooBig = fragments(
	"request|payload|content|body entity|body? is|was? too large",
	"request size|body|payload|length? has? exceed|exceeds|exceeded ~ maximum|limit|size|bytes|allowed",
)

// tooManyTokens is said of a window, and of a rate or of the reply as well.
var tooManyTokens = fragments(
	"too many total|input|prompt|text|request? tokens",
	"token|tokens count|limit|length? ~~ exceed|exceeds|exceeded|exceeding ~ context|limit|maximum|max|allowed|window",
	"input|prompt|conversation|messages ~~ exceed|exceeds|exceeded|exceeding ~ limit|maximum|max|allowed|tokens|length|capacity|window",
	"token limit|count|maximum has|was|is? been? exceeded|reached",
	"exceed|exceeds|exceeded|exceeding ~ token|tokens limit",
	"exceed|exceeds|exceeded|exceeding ~ max|maximum input|prompt|allowed? number? of? tokens",
	"maximum number? of? tokens exceeded|reached",
	"tokens in the|your? request|prompt|input|messages *? *? more|greater|larger|over|exceed*",
	"prompt|input ~ longer|larger|greater|bigger than",
)

// tooBigHan has 上下文过长, 输入长度超过限制.
var tooBigHan = runs(
	"上下文|提示|提示词|输入|对话|会话|消息|文本|内容|历史|prompt|token|tokens 的? 内容|长度|文本|信息|记录|历史|窗口|大小|token|tokens? 长度|总|总数|数量|数|量? 已|已经? 过长|太长|超长|过大|太大|过多|太多|溢出|已满|满了|超限|超出|超过|大于",
	"超出|超过 ~~ 上下文|输入长度|token|最大长度|长度限制|长度上限|窗口",
	"请求|请求体|请求内容 过大|太大|过长|太长",
	"最大 上下文|输入 长度|窗口 为|是|限制 #",
)

var (
	// Limits that refill by themselves are no overflow,
	rate    = phrases("per min|minute|day|hour|sec|second|month|week", "tpm|rpm|tpd", "rate limit*", "ratelimit*", "please wait", "too many requests", "quota|quotas")
	rateHan = runs("每分钟|每秒|每天|速率|频率|频次|配额|额度|限流|并发")
	// nor are those of the reply
	ofReply   = phrases("output|completion|generated|response|reply token|tokens|length|size|limit", "max tokens")
	ofRequest = phrases("input|inputs|prompt|context|messages|conversation|request|requested")
	// nor those of something inside the request.
	ofPart    = phrases("image|images|file|files|pdf|document|documents|audio|video|attachment|page|pages|url|uri|name|header|headers|argument|password|path")
	ofPartHan = runs("文件|图片|文件名")
)

// alone says nothing beside other words, but something as a whole error.
var alone = phrases("max|maximum context length|size|window|limit")

func (m message) overflow() bool {
	return m.saysTooBig() && !ordinary().MatchString(m.flat) && !mentioned().MatchString(m.flat)
}

func (m message) saysTooBig() bool {
	if _, end, ok := alone.find(m.words, 0); ok && end == len(m.words) && end == 3 {
		return true
	}
	if m.states(tooBig) {
		return true
	}
	if !rate.in(m.words) {
		replyOnly := ofReply.in(m.words) && !ofRequest.in(m.words)
		if m.states(bodyTooBig) || slices.Contains(statuses(m.flat), http.StatusRequestEntityTooLarge) || (!replyOnly && m.states(tooManyTokens)) {
			return true
		}
	}
	return tooBigHan.in(m.han) && !rateHan.in(m.han) && !ofPartHan.in(m.han)
}

// What stands around the words tells an error from prose about one.
var (
	// A command that looks for the words, the subject of a commit.
	ordinary = lazily(`^(?:\$ ?)?(?:sudo |git )?(?:e?grep|rg|ag|ack|sed|awk|cat|find|echo|printf|head|tail|less|jq) |` +
		`^(?:docs?|fix|feat|chore|refactor|tests?|style|perf)(?:\([^)]*\))?!?: `)
	// An identifier that is talked about: handle 'context_length_exceeded' in src.
	mentioned = lazily(`(?:handles?|handling|for|catch|catches|search|match|matches|string|constant|like|see|word|words|called|named|contains|containing|mentions?|the|when|if|on) ['"]\w*context\w*['"] [a-z]|` +
		`(?:==|!=|case) ?['"]\w*context\w*['"]`)
	// If the prompt is too long, split it.
	conditional = lazily(` (?:if|when|whenever|whether|unless|until|in case|once|because|avoid|suppose|assuming) ` +
		`(?:(?:the|your|this|that|a|an|my|our|it|any|its|their) (?:[^ ]+ ){0,2})?$`)
	// I worry that this prompt is too long.
	hedge = lazily(` (?:i|we) (?:[^ ]+ )?(?:worry|think|believe|guess|suspect|fear|feel|doubt|assume|hope|wonder|afraid|worried) (?:[^ ]+ ){0,4}$`)
	// This prompt is too long to read, … for me.
	purpose = lazily(`^ (?:to (?:paste|read|type|write|show|quote|include|copy|list|print|repeat|share|post|put|review|remember|be (?:useful|read|pasted|shown|true|practical))|` +
		`for (?:me|us|you|him|her|them|my|a|people|humans|reading|comfort)) `)
)

// aroundWords is how many words before and after a match its surroundings are.
const aroundWords = 12

// states reports whether an entry of t is said in earnest: not of a part of
// the request, and not as something that may be.
func (m message) states(t wordTable) bool {
	for from := 0; ; {
		start, end, ok := t.find(m.words, from)
		if !ok {
			return false
		}
		from = start + 1
		if ofPart.in(m.words[start:end]) {
			continue
		}
		before := " " + strings.Join(m.words[max(0, start-aroundWords):start], " ") + " "
		after := " " + strings.Join(m.words[end:min(len(m.words), end+aroundWords)], " ") + " "
		if !conditional().MatchString(before) && !hedge().MatchString(before) && !purpose().MatchString(after) {
			return true
		}
	}
}
