package document

// This file is data: the words by which a conclusion is read. Phrases are
// separated by commas; accents and case do not matter; the longest phrase that
// fits wins. Chinese phrases are found anywhere in a run of characters, others
// only as whole words.

// class is what a word does to the reading of its clause or sentence.
type class uint8

const (
	unknown      class = iota
	success            // the goal is achieved
	failure            // it is not
	failing            // a failure that also negates what follows: "failed to complete"
	notYet             // not yet: a failure, and a negation of what follows
	impossible         // it cannot be reached; also negates what follows
	unverifiable       // it cannot be verified
	verify             // it cannot be verified, where negated
	negation           // negates to the end of the clause
	without            // negates failures and exceptions, not successes
	partial            // makes a success a partial one
	lack               // as partial, unless an article makes it an adjective
	exception          // as partial; may begin a sentence that goes on with the one before
	quantifier         // partial where it stands before the success, or behind "for"
	only               // partial where it stands before the success or right behind it
	but                // what follows a success limits it; also ends a clause
	however            // what follows a success limits it
	although           // as however, and a success in its own clause is none
	notOnly            // takes the limit from the next but
	doubt              // a success behind it is none
	claim              // as doubt, to the end of the clause
	condition          // as doubt, and also for the success it follows
	and                // ends a clause
	or                 // sets alternatives side by side
	of                 // between two numbers: 3 of 4
	with               // what trouble follows is an exception
	trouble            // an exception behind "with"
	subject            // the goal, the verdict: the sentence speaks of the whole
	filler             // may stand beside a bare verdict
	article            // makes a "complete" behind it an adjective
	neutral            // no more than it says, whatever its words mean apart
)

// wordRow lists the words of one class by language.
type wordRow struct {
	class          class
	en, zh, es, de string
}

var wordRows = []wordRow{
	{
		class: success,
		en:    "achieved, met, done, complete, completed, pass, passes, passed, succeeded, true",
		zh:    "达成, 已达成, 完成, 通过",
		es: "alcanzado, alcanzada, alcanzados, alcanzadas, logrado, lograda, logrados, logradas, " +
			"cumplido, cumplida, cumplidos, cumplidas, hecho, hecha, hechos, hechas",
		de: "erreicht, erfüllt, bestanden, fertig, erledigt",
	},
	{
		class: failure,
		en: "fail, fails, failed, failing, failure, failures, complete failure, false, unachieved, unmet, incomplete, " +
			"undone, unfinished, unsuccessful, broke, broken, breaks, crash, crashes, crashed",
		zh: "失败, 未达成, 没达成, 不达成, 未完成, 没完成, 未通过, 没通过, 不通过, 没过, 没有过, 未过, 还没过, 还没有过, 尚未过, 不过关, 报错, 崩溃",
		es: "fallido, fallida, fallidos, fallidas, falla, fallan, falló, fallos, fallaron, fracaso, fracasó, incumplido, " +
			"incumplida, incompleto, incompleta, falso, inacabado, inacabada",
		de: "gescheitert, fehlgeschlagen, durchgefallen, misslungen, unerfüllt, unvollständig, unerreicht, unfertig, falsch",
	},
	{
		class: failing,
		en:    "fail to, fails to, failed to, failing to, failure to",
	},
	{
		class: notYet,
		en:    "not yet, not_yet, notyet, yet to, not there yet",
		es:    "aún no, todavía no",
		de:    "noch nicht, noch immer nicht, immer noch nicht",
	},
	{
		class: impossible,
		en:    "impossible, unreachable, unattainable, unachievable, not possible, not achievable, not attainable, not reachable",
		zh:    "无法达成, 没法达成, 不可达成, 不可能, 无法完成, 达不到, 做不到, 办不到, 达成不了, 完成不了, 达不成, 完不成",
		es:    "inalcanzable, inalcanzables, imposible, irrealizable, no es posible, no alcanzable",
		de:    "unerreichbar, unmöglich, nicht möglich, nicht erreichbar, unerfüllbar",
	},
	{
		class: unverifiable,
		en:    "unverifiable, unverified, cannot be judged, can not be judged, can't be judged, could not be judged",
		zh: "无法验证, 没法验证, 不能验证, 无从验证, 验证不了, 无法判定, 没法判定, 不能判定, 无从判定, 判定不了, " +
			"无法核实, 没法核实, 无法在此验证, 无法在这里验证, 无法在此环境验证, 无法在此环境中验证, 没有验证, 没验证, 未验证",
		es: "inverificable, inverificables",
		de: "ungeprüft, unüberprüft",
	},
	{
		class: verify,
		en:    "verify, verifies, verified, verifying, verifiable",
		es: "verificar, verificarse, verificarlo, verificarla, verificado, verificada, verificados, verificadas, verificable, " +
			"verificables, comprobar, comprobarse, comprobarlo, comprobarla, comprobado, comprobada, comprobable, comprobables",
		de: "überprüfbar, überprüfen, überprüft, verifizierbar, verifizieren, verifiziert, prüfbar, nachprüfbar",
	},
	{
		class: negation,
		en: "not, never, no, none, neither, nor, nothing, nobody, cannot, unable, isnt, arent, wasnt, werent, hasnt, havent, " +
			"hadnt, dont, doesnt, didnt, wont, wouldnt, cant, couldnt, without being, without having, without all, " +
			"without any of, instead of, rather than, anything but, nowhere near, short of, too early, premature, wrong, " +
			"deny, doubt, doubtful, not until",
		zh: "未, 没, 没有, 尚未, 还没, 还没有, 还未, 未能, 没能, 未曾, 并未, 并没有, 并非, 从未, 不, 不能, 不会, 不算, 无法, 没法, " +
			"难以, 不存在, 不见, 未见, 从不, 远未, 离, 距, 距离, 否, 谈不上, 称不上, 算不上, 不是",
		es: "no, nunca, jamás, ningún, ninguno, ninguna, ningunos, ningunas, nada, nadie, tampoco, ni, sin ser, sin estar, " +
			"sin haber, sin que, sin haberse, en vez de, en lugar de, dudo",
		de: "nicht, nie, niemals, kein, keine, keiner, keines, keinem, keinen, keineswegs, keinesfalls, nichts, niemand, " +
			"weder, nirgends, ohne dass, ohne erreicht, ohne erfüllt, anstatt, statt, außerstande, bezweifle, alles andere als",
	},
	{
		class: without,
		en:    "without, free of, devoid of",
		zh:    "无, 零, 毫无",
		es:    "sin",
		de:    "ohne",
	},
	{
		class: partial,
		en: "mostly, largely, partly, partial, partially, almost, nearly, half, halfway, hardly, barely, scarcely, far from, far from being, close to, close to being, " +
			"near to, in part, in large part, in principle, in theory, theoretically, mainly, majority, more or less, somewhat, " +
			"to some extent, to a large extent, to a degree, to some degree, for the most part, for the greater part, basically, " +
			"essentially, in essence, practically, virtually, roughly, pretty much, kind of, sort of, as good as, provisionally, " +
			"tentatively, conditionally, pending, outstanding, remains, remain, still open, still missing, lacks, lacking, to go, " +
			"needs work, still needs, still needed, needs fixing, needs to be fixed, untested, unchecked",
		zh: "部分, 大部分, 大半, 基本, 基本上, 几乎, 差不多, 差点, 差一点, 接近, 勉强, 一半, 半数, 多数, 大多, 大致, 大体, 局部, 初步, 还差, " +
			"只差, 就差, 尚差, 仍差, 差一, 差两, 还缺, 尚缺, 仍缺, 缺少, 缺失, 欠缺, 仅剩, 还剩, 剩余, 遗留, 待补, 有待, 还需, 还要, 还得, 仍需, 仍要, " +
			"尚需, 不彻底, 不完整, 不全, 不完全, 不足, 有条件, 理论上, 原则上, 名义上, 还早, 为时过早, 为时尚早, 没做, 没有做, 未做, 没写, 未写, 没测, " +
			"没有测, 未测, 没跑, 未跑, 没实现, 没有实现, 未实现, 没修, 未修",
		es: "parcialmente, parcial, casi, apenas, en parte, en gran parte, en su mayor parte, a medias, mitad, mayormente, " +
			"mayoritariamente, mayoría, lejos de, cerca de, en principio, prácticamente, básicamente, más o menos, pendiente, " +
			"pendientes, falta, faltan, incompletamente, a falta de",
		de: "teilweise, teils, zum teil, zum großen teil, zum größten teil, beinahe, nahezu, kaum, größtenteils, überwiegend, " +
			"weitgehend, meist, meistens, das meiste, halb, halbwegs, hälfte, im prinzip, im grunde, im wesentlichen, " +
			"im großen und ganzen, ansatzweise, annähernd, mehr oder weniger, so gut wie, praktisch, quasi, weit entfernt, " +
			"ausstehend, offen, fehlt, fehlen, noch zu, vorläufig, bedingt, mehrheitlich",
	},
	{class: lack, en: "missing, absent, remaining"},
	{
		class: exception,
		en: "except, except for, exception, exceptions, apart from, aside from, aside, but for, but one, but two, but three, all but, " +
			"other than, otherwise, save for, save the, excluding, with the exception of, not counting, ignoring, leaving aside, " +
			"setting aside, disregarding, barring, besides the, minus, modulo, up to the, caveat, caveats, remark, remarks, " +
			"reservation, reservations, restriction, restrictions, limitation, limitations",
		zh: "除了, 除, 以外, 之外, 例外, 唯独, 唯有, 保留意见",
		es: "salvo, excepto, excepción, excepciones, menos, a excepción de, con la salvedad, salvedad, salvedades, reserva, " +
			"reservas, exceptuando, fuera de",
		de: "bis auf, außer, ausgenommen, ausnahme, ausnahmen, abgesehen von, mit ausnahme, einschränkung, einschränkungen, " +
			"vorbehalt, vorbehalte, abstriche, abstrichen",
	},
	{
		class: quantifier,
		en: "some, several, most, many, few, a few, one of, part of, parts of, either of, any of, a third, thirds, a quarter, " +
			"quarters, fraction, near, semi",
		zh: "一些, 有些, 个别, 少数, 若干, 某些, 有的",
		es: "algún, alguno, alguna, algunos, algunas, varios, varias, muchos, muchas, pocos, pocas, parte de, uno de, una de, " +
			"unos, unas, tercio, tercios, un cuarto",
		de: "fast, einige, einiger, einigen, manche, mehrere, viele, wenige, die meisten, ein teil, einer der, eine der, " +
			"eines der, drittel, viertel, gleich",
	},
	{
		class: only,
		en:    "only, merely, solely",
		zh:    "只, 只有, 仅, 仅有, 仅仅",
		es:    "sólo, solamente, únicamente",
		de:    "nur, lediglich, bloß",
	},
	{
		class: but,
		en:    "but",
		zh:    "但, 但是, 不过, 可是, 尽管, 虽然",
		es:    "pero, sino",
		de:    "aber, sondern",
	},
	{
		class: however,
		en:    "however, yet, nevertheless, unfortunately",
		zh:    "然而, 只是, 可惜",
		es:    "sin embargo, no obstante",
		de:    "jedoch, allerdings, doch, leider",
	},
	{
		class: although,
		en:    "though, although, albeit, even though, whereas",
		es:    "aunque, mientras que",
		de:    "obwohl, obgleich, wenngleich, auch wenn",
	},
	{
		class: notOnly,
		en:    "not only, not just, not merely",
		zh:    "不仅, 不但, 不只, 不光, 不仅仅",
		es:    "no sólo, no solamente, no únicamente",
		de:    "nicht nur, nicht bloß",
	},
	{
		class: doubt,
		en: "will, would, should, could, shall, can, may, might, must, ought, need, needs, once, when, whenever, whether, before, " +
			"to be, has to, have to, going to, about to, done when, maybe, perhaps, possibly, probably, presumably, likely, " +
			"unlikely, supposedly, allegedly, apparently, reportedly, unclear, uncertain, unsure, expected, expect, used to, " +
			"hope, hopefully, seems, appears, assume, assumes, pretends, being, getting, becoming",
		zh: "将, 将会, 将要, 会, 应该, 应当, 应能, 可以, 可能, 能, 能够, 需, 需要, 待, 必须, 为了, 要达成, 为达成, 想达成, 要完成, 为完成, 可达成, 可完成, 可通过, 达成与否, 完成与否, 通过与否, 一旦, 当, 每当, 等到, 等待, " +
			"才能, 才算, 预计, 即将, 有望, 争取, 是否, 能否, 可否, 有没有, 有无, 似乎, 好像, 看似, 貌似, 快要, 快达成, 快完成, 快通过, 就快, 马上, 很快, 尽快, 也许, 或许, 大概, 估计, 据说, 希望, 不知道, " +
			"不确定, 未必",
		es: "será, serán, sería, serían, estará, estarán, debería, deberían, debe, deben, podría, podrían, puede, pueden, podrá, " +
			"podrán, habrá, cuando, una vez, antes de, quizá, quizás, tal vez, probablemente, posiblemente, supuestamente, " +
			"parece, siendo, habría, habrían, fuera, espera, se espera, a punto de, hay que, tiene que",
		de: "wird, werden, wuerde, wuerden, soll, sollen, sollte, sollten, könnte, könnten, kann, können, muss, müssen, müsste, " +
			"darf, dürfte, dürften, möge, sobald, ob, bevor, vielleicht, wahrscheinlich, vermutlich, möglicherweise, angeblich, " +
			"scheint, hoffentlich, unklar, wäre, wären, haette, haetten, gälte",
	},
	{
		class: claim,
		en:    "claims, claimed, says, said, pretended, reports it, reported, according to",
		zh:    "声称, 自称, 号称, 据称, 假装, 说, 说是",
		es:    "dice, dicen, afirma, afirman",
		de:    "behauptet, sagt, laut",
	},
	{
		class: condition,
		en: "if, unless, until, provided, provided that, assuming, as soon as, as long as, subject to, on condition, in case, " +
			"depending, soon, shortly, tomorrow, eventually",
		zh: "如果, 若, 若是, 要是, 假如, 倘若, 只要, 除非, 前提, 的话, 直到, 待确认, 待定, 待验证, 尚待",
		es: "si, a menos que, hasta que, siempre que, con tal de que, a condición de, en caso de, en cuanto, suponiendo",
		de: "wenn, falls, sofern, solange, bis dass, vorausgesetzt, unter der bedingung, es sei denn, angenommen, bald, demnächst, morgen",
	},
	{
		class: and,
		en:    "and, so",
		zh:    "且, 并且, 而且, 以及, 所以, 因此, 因为, 由于",
		es:    "y, e, porque",
		de:    "und, sowie, denn, weil",
	},
	{class: or, en: "or", zh: "或, 或者, 还是", es: "o, u", de: "oder"},
	{class: of, en: "of, of the, of these, of our, of all, out of, out of the", zh: "中, 中的, 中有, 其中, 其中有, 里, 里有, 里面", es: "de, de las, de los", de: "von, von den, der"},
	{class: with, en: "with", zh: "有, 存在", es: "con", de: "mit"},
	{
		class: trouble,
		en:    "error, errors, issue, issues, problem, problems, bug, bugs, defect, defects, gap, gaps, warning, warnings",
		zh:    "问题, 错误, 缺陷, 警告, 遗漏",
		es:    "error, errores, problema, problemas, aviso, avisos, defecto, defectos",
		de:    "fehler, fehlern, problem, problemen, mangel, mängel, mängeln, lücke, lücken, warnung, warnungen",
	},
	{
		class: subject,
		en:    "goal, goals, objective, task, verdict, conclusion, overall",
		zh:    "目标, 结论, 任务, 整体, 总体, 判定",
		es:    "objetivo, tarea, conclusión, veredicto",
		de:    "ziel, aufgabe, ergebnis, urteil, fazit, insgesamt",
	},
	{
		class: filler,
		en: "is, are, was, were, has, have, had, been, it, this, that, all, checks, criteria, really, quite, exactly, fully, completely, entirely, now, " +
			"still, therefore, thus, here, my",
		zh: "是, 已, 已经, 全部, 完全, 都, 均, 的, 了, 我的, 现在, 尚",
		es: "es, está, están, ha, han, sido, se, todo, todos, ya, totalmente, el, la, los, las, mi",
		de: "ist, sind, wurde, wurden, hat, haben, worden, das, die, es, alle, alles, vollständig, ganz, damit, mein, kriterien",
	},
	{class: article, en: "the, a, an, our, its, each"},
	{
		class: neutral,
		en: "no doubt, without doubt, without a doubt, without any doubt, beyond doubt, beyond any doubt, no longer than, pass rate, " +
			"pass rates, pass ratio, pass criteria, pass condition, passed to, pass to, passes to, passed as, passed into, " +
			"pass through, passed through, first pass, second pass, last pass, next pass, at once, false positive, " +
			"false positives, false alarm, false alarms, true positives, half an hour, so far, if any, as expected, as before, " +
			"as planned, as well as, up to date, up to now, can confirm, can see, can say",
		zh: "未来, 未知, 未免, 不错, 不同, 不少, 不断, 不论, 不管, 不久, 不止, 不得不, 无论, 无需, 无误, 除此之外, 有效, 有关, 没关系, 完成度, " +
			"完成率, 通过率, 达成率, 达成度, 达成一致, 能力, 可能性, 会话, 会议, 社会, 机会, 只读, 当前, 当时, 适当, 相当, 功能, 性能, 智能, 中文, 中间, " +
			"需求, 将近, 删除, 移除, 清除, 去除, 解除, 排除, 扣除, 除法, 基本功能, 基本信息, 有序, 拥有, 所有, 具有, 零件, 零售, 虽说, 不仅如此, 期待, 对待, 离线, " +
			"隔离, 离开, 分离, 脱离, 否则, 说明, 说法, 可以说, 达成的, 完成的, 通过的, 除此以外",
		es: "de hecho, el hecho, un hecho, los hechos, sin duda, por supuesto, al menos",
		de: "bestanden zweifel, bestanden bedenken, ohne zweifel, kein zweifel",
	},
}

// numerals are the numbers that verdicts spell out: "two of three checks".
var numerals = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "zero": 0, "cero": 0,
	"uno": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10,
	"eins": 1, "eine": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
	"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}

// zeroWords say that of what was named before them there is nothing.
var zeroWords = []string{"none", "无", "没有", "ninguno", "ninguna", "keine", "nichts", "nada", "nothing"}

// dangling are the negations that go on behind a separator right after them:
// "not (yet) achieved", "is not, however, met".
var dangling = []string{
	"not", "never", "isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "cannot", "don't", "doesn't", "didn't", "nicht", "nie", "niemals", "nunca",
	"jamás", "tampoco", "未", "没", "没有", "尚未", "还没", "还没有", "还未", "并未", "并没有", "不", "从未", "否", "暂未", "仍未",
}

// compounds are the first parts of words with a hyphen or underscore that are
// read part by part: half-done, not_achieved. Others are names.
var compounds = []string{"not", "half", "partly", "partially", "mostly", "nearly", "almost", "semi", "near", "to", "halb", "teil"}

// accented are the words that mean something else without their accent, folded
// without it, and what they are read as.
var accented = map[string]string{"wurde": "wuerde", "wurden": "wuerden", "hatte": "haette", "hatten": "haetten", "si": "yes"}

// answers are the words that count only as the first word of a conclusion.
var answers = map[string]State{
	"yes": Achieved, "si": Achieved, "ja": Achieved, "1": Achieved,
	"no": NotYet, "nein": NotYet, "0": NotYet,
}

// signs are the emojis that are a verdict.
var signs = map[rune]class{
	'✅': success, '✔': success, '☑': success, '🟢': success, '✓': success,
	'🟡': partial, '🟠': partial,
	'❌': failure, '✗': failure, '✘': failure, '✖': failure, '🔴': failure, '⛔': failure,
}

// quotes are the pairs that enclose what is quoted. Plain apostrophes are
// handled apart, since they stand in words too.
var quotes = map[rune]rune{
	'"': '"', '`': '`', '“': '”', '„': '“', '«': '»', '»': '«', '‹': '›', '「': '」', '『': '』', '《': '》', '‘': '’', '‚': '‘',
}
