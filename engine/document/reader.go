package document

// sentence is what was read of a sentence.
type sentence struct {
	achieved, failed, unreachable, unverifiable bool
	signAchieved, signFailed                    bool // by emojis

	partial      bool // a success here is a partial one
	conditional  bool // a success here hangs on a condition
	question     bool
	alternatives bool // or, /, |
	subject      bool // it speaks of the goal as a whole
	more         bool // words beside those of a verdict
	labelled     bool // it begins with the name of a part and a colon

	doubted   bool // a success that comes now is none
	binding   bool // a condition that comes now is one of the success before it
	notOnly   bool
	figure    int // the last number
	hasFigure bool
}

func (s *sentence) succeeded() bool { return s.achieved || s.signAchieved }

// outcome weighs what the sentence holds.
func (s *sentence) outcome() outcome {
	if s.question {
		return outcome{}
	}
	if s.conditional && s.succeeded() {
		return outcome{torn: true}
	}
	achieved, failed, signAchieved, signFailed := s.achieved, s.failed, s.signAchieved, s.signFailed
	if s.partial {
		failed = failed || achieved || !s.more // "Mostly."
		signFailed = signFailed || signAchieved
		achieved, signAchieved = false, false
	}
	out := s.unreachable || s.unverifiable
	switch {
	case (achieved || signAchieved) && (failed || signFailed || out), signFailed && out && !failed:
		return outcome{torn: true}
	case failed && out && s.alternatives:
		return outcome{torn: true}
	case achieved || signAchieved:
		return outcome{state: Achieved}
	case failed || signFailed:
		return outcome{state: NotYet}
	case out:
		return outcome{state: Unreachable}
	}
	return outcome{}
}

// clause is what reaches to the end of a clause.
type clause struct {
	negated    bool
	excepted   bool // "without": negates failures and exceptions only
	impossible bool // what could succeed cannot or cannot be seen to
	quantified bool
	only       bool
	claimed    bool
	zero       bool // 0 stands here: "0 errors"
	none       bool // 0 of m
	success    bool // a success was counted
	dangling   bool // the negation has not met its word yet
	no         bool // it is a "no", which may also be an answer
	verify     bool // something is said of verifying it
	with       int  // for how many words "with" reaches
}

// reader reads the tokens of a conclusion, sentence by sentence.
type reader struct {
	tokens []token
	s      sentence
	c      clause
	carry  bool // a dangling negation goes on in the next clause

	decided sentence // the first sentence that says something
	result  outcome
	taken   bool // a later sentence takes the result back
}

func (rd *reader) outcome() outcome {
	if rd.taken {
		return outcome{torn: true}
	}
	return rd.result
}

func (rd *reader) read() {
	for i := rd.answer(); i < len(rd.tokens); i++ {
		t := rd.tokens[i]
		if t.soft && rd.lineDecides(t) {
			rd.endClause()
			rd.endSentence()
		}
		rd.token(i, t)
	}
	rd.endSentence()
}

// lineDecides tells whether the lines before token t are a sentence without
// its period: they say that something failed, or they are a bare verdict and
// the next line begins anew.
func (rd *reader) lineDecides(t token) bool {
	if rd.s.failed && !rd.s.succeeded() {
		return true
	}
	return rd.s.outcome().says() && !rd.s.more && t.upper && !goesOn(t.class) && t.class != condition
}

// goesOn tells words that at the beginning of a sentence limit the one before.
func goesOn(c class) bool { return c == but || c == however || c == although || c == exception }

// answer reads yes, no, 1 or 0 where it is the first word and stands alone,
// and returns where to go on.
func (rd *reader) answer() int {
	i := 0
	for i < len(rd.tokens) && rd.tokens[i].kind == opening {
		i++
	}
	if i == len(rd.tokens) {
		return 0
	}
	t := rd.tokens[i]
	state := answers[t.text]
	if t.kind == figure && t.text == "" {
		state = map[int]State{0: NotYet, 1: Achieved}[t.value]
	}
	if state == "" || !rd.standsAlone(i, t) {
		return 0
	}
	rd.s.achieved = state == Achieved
	rd.s.failed = state == NotYet
	rd.s.binding = rd.s.achieved
	return i + 1
}

// standsAlone tells whether the answer at i is followed by its end or by
// punctuation that separates it from what follows, and begins no enumeration.
func (rd *reader) standsAlone(i int, t token) bool {
	next := i + 1
	for next < len(rd.tokens) && rd.tokens[next].kind == closing {
		next++
	}
	if next == len(rd.tokens) || rd.tokens[next].soft {
		return true
	}
	switch after := rd.tokens[next]; after.kind {
	case comma, colon, semi:
		figures := next+1 < len(rd.tokens) && rd.tokens[next+1].kind == figure
		return t.kind != figure || after.text != "、" && !figures
	case stop, opening:
		return true
	}
	return false
}

// token reads one token.
func (rd *reader) token(i int, t token) {
	switch t.kind {
	case word:
		rd.word(i, t)
	case figure:
		rd.number(i, t)
	case fraction:
		rd.count(t.value, t.of, rd.back(i))
		rd.s.more = true
	case percent:
		rd.percent(i, t)
	case other:
		rd.s.more = true
	case sign:
		rd.sign(i, t)
	case question:
		rd.s.question = true
		rd.endSentence()
	case stop:
		if next := rd.at(i + 1); rd.s.succeeded() && goesOn(next.class) {
			rd.endClause()
			return
		}
		rd.endClause()
		rd.endSentence()
	default:
		rd.separator(i, t)
	}
}

func (rd *reader) separator(i int, t token) {
	if t.kind == opening && rd.at(i-1).class == negation {
		rd.c.dangling = true // none (of the checks) passed
	}
	rd.endClause()
	switch t.kind {
	case colon:
		rd.s.doubted = false
		rd.s.labelled = rd.s.labelled || rd.s.more && !rd.s.subject && !rd.s.outcome().says()
	case semi:
		rd.s.doubted, rd.s.binding = false, false
	case slash:
		rd.s.alternatives = true
	}
}

func (rd *reader) at(i int) token {
	if i < 0 || i >= len(rd.tokens) {
		return token{kind: stop}
	}
	return rd.tokens[i]
}

// endClause ends the reach of a negation. A "not" that stands right before the
// separator has not met its word yet: it goes on behind, or, when the clause
// held a success, belongs to that ("erreicht ist es nicht").
func (rd *reader) endClause() {
	switch {
	case rd.c.no && rd.s.succeeded(), rd.c.dangling && rd.c.success:
		rd.takeBack()
	case rd.c.dangling && rd.c.verify:
		rd.s.unverifiable = true // "überprüfen lässt sich das nicht"
	case rd.c.dangling:
		rd.carry = true
	}
	rd.c = clause{negated: rd.carry}
}

// takeBack turns the successes of the sentence into a failure: "achieved: no",
// "the title is done, the stamp is not".
func (rd *reader) takeBack() {
	rd.s.achieved, rd.s.signAchieved, rd.s.failed = false, false, true
}

func (rd *reader) endSentence() {
	if rd.carry && (rd.s.succeeded() || !rd.s.more) {
		rd.takeBack()
	}
	s := rd.s
	rd.s, rd.c, rd.carry = sentence{}, clause{}, false
	o := s.outcome()
	switch {
	case !o.says():
	case !rd.result.says():
		rd.decided, rd.result = s, o
	case o.state != rd.result.state && rd.overrules(s):
		rd.taken = true
	}
}

// overrules tells whether a later sentence takes back what the first one said:
// it does when it is nothing but a verdict, and when it speaks of the goal
// while the first spoke of a part.
func (rd *reader) overrules(s sentence) bool {
	whole := !rd.decided.more || rd.decided.subject
	return !s.more || s.subject && !whole && rd.result.state == Achieved || s.labelled && rd.decided.labelled
}
