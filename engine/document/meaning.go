package document

// What the classes of words do to the clause and the sentence they stand in.

// denied tells whether a failure or an exception here is denied: "no check
// failed", "without exception", "0 errors".
func (c *clause) denied() bool { return c.negated || c.excepted || c.zero }

// follow keeps track of a negation that waits for its word: it does while only
// auxiliaries follow ("has not been, as of today, met"). A bare "no" does not
// wait: it may be an answer.
func (c *clause) follow(t token) {
	switch {
	case t.class == negation:
		c.dangling, c.no = words().dangling[t.text], t.text == "no"
	case t.class == filler:
		c.dangling, c.no = c.dangling || c.no, false
	default:
		c.dangling, c.no = false, t.text == "nein"
	}
}

func (rd *reader) word(i int, t token) {
	s, c := &rd.s, &rd.c
	if c.with > 0 {
		c.with--
	}
	c.follow(t)
	switch t.class {
	case success:
		rd.success(i, t)
	case failure, failing, notYet:
		rd.failure(i, t)
	case impossible, unverifiable, verify:
		rd.outOfReach(t)
	case negation:
		c.negated = true
	case without:
		c.excepted = true
	case partial, exception, lack, trouble, quantifier, only:
		rd.limit(i, t)
	case however:
		s.partial = s.partial || s.succeeded()
	case although:
		s.partial = s.partial || s.succeeded()
		c.claimed = true
	case but:
		s.partial = s.partial || s.succeeded() && !s.notOnly
		s.notOnly, s.doubted = false, false
		rd.endClause()
	case and:
		rd.endClause()
	case notOnly:
		s.notOnly = true
	case doubt:
		s.doubted = true
	case claim:
		c.claimed = true
	case condition:
		s.doubted = true
		s.conditional = s.conditional || s.binding
	case or:
		s.alternatives = true
	case of:
		rd.share(i, t)
	case with:
		c.with = 4
	case subject:
		s.subject = true
	}
	s.more = s.more || !verdictWord[t.class]
}

// verdictWord holds the classes that a sentence of nothing but a verdict has.
var verdictWord = map[class]bool{
	success: true, failure: true, notYet: true, impossible: true, unverifiable: true, verify: true, negation: true,
	partial: true, quantifier: true, subject: true, filler: true, article: true, or: true, and: true,
}

func (rd *reader) success(i int, t token) {
	s, c := &rd.s, &rd.c
	before, after := rd.at(i-1), rd.at(i+1)
	switch {
	case before.class == article && (t.text == "complete" || t.text == "true"):
		return // "the complete suite"
	case c.negated, c.none, rd.nothingBefore(i), rd.nothingAfter(i):
		s.failed = true
		rd.carry = false
		return
	case c.impossible, s.doubted, c.claimed, passive(after):
		return
	}
	s.achieved, s.binding, c.success = true, true, true
	s.partial = s.partial || c.quantified || c.only
}

// passive tells the verb that makes a German participle before it a wish:
// "erreicht werden kann".
func passive(t token) bool {
	switch t.text {
	case "werden", "wird", "wuerde", "wuerden":
		return true
	}
	return false
}

func (rd *reader) failure(i int, t token) {
	s, c := &rd.s, &rd.c
	if c.denied() || rd.nothingAfter(i) {
		c.negated = c.negated && t.class != failing
		rd.carry = false
		return
	}
	s.failed = true
	c.negated = t.class == notYet || t.class == failing
}

// outOfReach reads words for what cannot be reached or verified. Behind them a
// success is what cannot be, not what is.
func (rd *reader) outOfReach(t token) {
	s, c := &rd.s, &rd.c
	denied := c.negated || c.excepted
	switch {
	case t.class == verify && (denied || c.impossible):
		s.unverifiable = true
		c.negated, rd.carry = false, false
	case t.class == verify || denied:
		c.verify = c.verify || t.class == verify
		return
	case t.class == impossible:
		s.unreachable = true
	default:
		s.unverifiable = true
	}
	c.impossible = true
}

// limit reads words that make a success a partial one.
func (rd *reader) limit(i int, t token) {
	s, c := &rd.s, &rd.c
	before := rd.at(i - 1)
	switch {
	case c.denied(), rd.nothingAfter(i):
	case t.class == lack && before.class == article:
	case t.class == trouble:
		s.partial = s.partial || c.with > 0
	case t.class == quantifier:
		c.quantified = true
		s.partial = s.partial || s.succeeded() && applies(before)
	case t.class == only:
		c.only = true
		s.partial = s.partial || rd.back(i).class == success
	default:
		s.partial = true
	}
}

// applies tells the prepositions behind which a quantifier says what the
// success before it holds for: "met in most cases".
func applies(t token) bool {
	switch t.text {
	case "for", "in", "on", "en", "para", "bei", "fur", "fuer":
		return true
	}
	return false
}

// share reads "n of m", and in Chinese "m 中 n".
func (rd *reader) share(i int, t token) {
	n, ok := rd.figureNear(i, -1)
	if !ok && t.text == "其中" {
		n, ok = rd.s.figure, rd.s.hasFigure
	}
	m, found := rd.figureNear(i, +1)
	if !ok || !found {
		// "two of them", with the whole left open
		rd.s.partial = rd.s.partial || found && t.text == "其中"
		return
	}
	if han := []rune(t.text); len(han) > 0 && isHan(han[0]) {
		n, m = m, n
	}
	rd.count(n, m, rd.back(i-1))
}

// count reads n of m. None of them makes a success behind it, or the one before
// it that it belongs to, a failure.
func (rd *reader) count(n, m int, before token) {
	if n == 0 {
		rd.c.zero, rd.c.none = true, true
		rd.s.partial = rd.s.partial || before.class == success
		return
	}
	rd.s.partial = rd.s.partial || n < m
}

// figureNear finds a number next to token i or one word further.
func (rd *reader) figureNear(i, step int) (int, bool) {
	for _, j := range [...]int{i + step, i + 2*step} {
		switch t := rd.at(j); t.kind {
		case figure:
			return t.value, true
		case word:
			if step < 0 && t.class != filler && !t.upper {
				return 0, false // "80 ms of 100"
			}
		default:
			return 0, false
		}
	}
	return 0, false
}

func (rd *reader) number(i int, t token) {
	rd.s.more = true
	rd.s.figure, rd.s.hasFigure = t.value, true
	rd.c.zero = rd.c.zero || t.value == 0
	switch rd.at(i + 1).text {
	case "percent", "prozent", "por":
		rd.percent(i+1, t)
	}
}

// nothingBefore tells a success of none: "0 checks passed".
func (rd *reader) nothingBefore(i int) bool {
	n, ok := rd.figureNear(i, -1)
	return ok && n == 0
}

// nothingAfter tells words whose count follows and is zero: "failed: 0",
// "not passed: none", "failed checks: 0/5", "es fehlt nichts".
func (rd *reader) nothingAfter(i int) bool {
	i++
	if rd.at(i).kind == word && rd.at(i+1).kind == colon {
		i++
	}
	explicit := rd.at(i).kind == colon
	if explicit {
		i++
	}
	t := rd.at(i)
	switch {
	case t.kind == word:
		return words().zero[t.text] && (explicit || !t.upper)
	case t.kind != figure && t.kind != fraction || t.value != 0:
		return false
	}
	unit := rd.at(i + 1)
	switch unit.class {
	case failure, trouble, exception, partial:
		// "achieved: 0 errors", but "passed=0 failed=5"
		return explicit && rd.at(i+2).kind == colon
	}
	return explicit || unit.kind != word || unit.upper
}

// percent reads a share in percent right beside a success or before "of".
func (rd *reader) percent(i int, t token) {
	rd.s.more = true
	after := rd.at(i + 1)
	beside := after.class == success || after.class == of || rd.back(i).class == success
	rd.s.partial = rd.s.partial || t.value < 100 && beside
}

// back finds the word that what stands at i belongs to: the one before, beyond
// auxiliaries, prepositions and a colon.
func (rd *reader) back(i int) token {
	for i--; i >= 0; i-- {
		t := rd.tokens[i]
		switch t.text {
		case "al", "en", "un", "to", "at", "by", "zu":
			continue
		}
		if t.class != filler && t.kind != colon {
			return t
		}
	}
	return token{}
}

func (rd *reader) sign(i int, t token) {
	s, c := &rd.s, &rd.c
	switch {
	case t.class == partial:
		s.partial = true
	case t.class == failure:
		s.signFailed = s.signFailed || !c.denied() && !rd.nothingAfter(i)
	case c.negated:
		s.signFailed = true
	case !s.doubted && !c.claimed && !c.impossible:
		s.signAchieved, s.binding = true, true
	}
}
