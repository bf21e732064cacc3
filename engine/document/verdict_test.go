package document_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flowerlua/flower/engine/document"
)

// conclusions are tested behind a heading and, where they are one line, alone.
var conclusions = []struct {
	class string
	state document.State
	texts []string
}{
	{"plain success", document.Achieved, []string{
		"achieved", "Achieved!", "ACHIEVED.", "The goal has been achieved.", "Goal achieved", "All criteria are met.",
		"all checks passed", "Every check passes", "It is done.", "Complete.", "the task is complete", "Completed, nothing open",
		"It succeeded", "true", "We achieved the goal", "Fully achieved", "now achieved", "Finally done.",
		"达成", "已达成", "目标达成", "全部达成", "都已完成", "检查全部通过", "全部测试通过", "目标已经达成。", "通过了", "已全部通过",
		"alcanzado", "Alcanzada.", "El objetivo se ha alcanzado.", "Todos los criterios están cumplidos", "logrados", "Hecho.",
		"objetivo logrado", "cumplidas todas las condiciones",
		"erreicht", "Erreicht!", "Das Ziel wurde erreicht.", "Alle Kriterien sind erfüllt.", "Alle Kriterien sind erfuellt.",
		"bestanden", "fertig", "Erledigt.", "Das Ziel ist vollständig erreicht", "ERFÜLLT", "alle Prüfungen bestanden",
	}},
	{"answers and signs", document.Achieved, []string{
		"yes", "Yes.", "yes - all of it", "Yes: see below", "Sí", "sí, está todo", "Ja.", "ja, alles da", "1", "1.", "(1)", "1, all good",
		"1 - every page renders", "１", "✅", "✔️", "☑", "🟢", "✅ achieved", "achieved ✅", "✅✅", "🟢 All checks pass", "[x] achieved",
		"- achieved", "> achieved", "* **Achieved**", "***achieved***", "`achieved`", "“achieved”", "„erreicht“", "«cumplido».", "「达成」",
		"'achieved'", "\"Achieved.\"", "**\"achieved\"**", "~~not yet~~ achieved",
		`{"verdict": "achieved"}`, `{"state":"achieved","failed":[]}`, `{"判定": true}`, `{"Fazit": "erreicht"}`,
	}},
	{"negations that belong to something else", document.Achieved, []string{
		"achieved, no issues", "achieved without any problem", "Achieved; nothing failed", "No errors, achieved", "No blockers: done",
		"Done. No check failed.", "achieved, none of the checks failed", "passed, 0 errors", "12 passed, 0 failed", "0 errors, all passed",
		"the failed: 0, passed: 12", "achieved, nothing is missing", "passed without exception", "achieved – not one page is blank",
		"Achieved (no regressions)", "Not perfect, but achieved", "It took two rounds but it is achieved", "no failures | achieved",
		"no regressions and all checks pass", "achieved, no caveats", "Done, no warnings", "achieved with no exceptions",
		"No doubt achieved", "Without a doubt achieved", "Achieved, nothing unverifiable", "Not only achieved but exceeded",
		"achieved, nothing remains", "achieved with 0 errors", "achieved without reservations", "achieved in phase 1",
		"Achieved, the log says \"0 failed\"", "achieved, the badge reads 'not yet'", "passed, `fail` is the name of a file",
		"没有问题,达成", "达成,没有失败的检查", "达成,无例外", "无遗漏,全部通过", "达成,没有无法验证的条目", "达成,0 项失败", "失败 0 项,通过 12 项",
		"毫无疑问达成", "不但达成,而且超出", "达成,没有一项未通过",
		"alcanzado, sin excepciones", "sin errores: cumplido", "Ningún error, todo cumplido", "cumplido, nada falla", "sin duda alcanzado",
		"cumplido sin reservas", "alcanzado, no falta nada", "no hay errores y todo está cumplido",
		"erreicht, keine Fehler", "ohne Ausnahme erfüllt", "Keine Ausnahmen, alles bestanden", "erreicht, nichts ist offen",
		"Nicht nur erreicht, sondern übertroffen", "erfüllt ohne Einschränkung", "kein Fehler und alle Kriterien erfüllt",
		"ohne Zweifel erreicht", "bestanden, nichts ist fehlgeschlagen",
	}},
	{"counts that are whole", document.Achieved, []string{
		"4 of 4 checks passed", "All 4 checks passed", "4/4 passed", "passed 4/4", "12 out of 12 checks pass", "three of three checks passed",
		"100% done", "100 % of the checks pass", "achieved in 3 rounds", "achieved on 1/3/2024", "passed in 1.5 s", "achieved in v1.2",
		"4/4 通过", "通过 4/4", "4 项中 4 项通过", "4 von 4 Prüfungen bestanden", "4 de 4 comprobaciones cumplidas", "三项中三项通过",
		"zu 100 % erfüllt",
	}},
	{"first sentence decides", document.Achieved, []string{
		"Achieved. The first run failed because of a typo.", "I ran the suite twice. Achieved. The log is long.",
		"达成。第一轮失败过。", "Erreicht. Im ersten Lauf nicht bestanden.", "Alcanzado. La primera vez falló.",
		"Is it done? The goal is achieved.", "Achieved\n\nThe first run failed.", "Looks good.\nAll checks pass.",
	}},
	{"negated success", document.NotYet, []string{
		"not achieved", "Not yet achieved", "not done yet", "isn't done", "is not done", "isnt done", "wasn’t achieved", "hasn't been met",
		"has never been achieved", "never done", "no check passed", "none passed", "neither achieved nor done", "nothing is done",
		"nobody completed it", "cannot be considered achieved", "can't be called done", "unable to complete", "not really achieved",
		"not entirely met", "The goal has not been\nachieved.", "The goal has not (yet) been achieved", "not (fully) achieved",
		"is not, however, achieved", "not – as of today – achieved", "achieved it is not", "I do not think that it is done",
		"I wouldn't call it done", "I don't believe all checks pass", "it won't pass", "did not pass", "does not pass", "doesn't pass",
		"not all checks pass", "not every criterion is met", "not a success, not achieved", "no longer met", "by no means achieved",
		"anything but achieved", "nowhere near done", "far from being achieved", "yet to be achieved", "failed to complete",
		"fails to pass", "\"not\" achieved", "not *yet* **achieved**", "NOT_ACHIEVED", "not-achieved", "the run ended without being completed",
		"instead of being done it is blank", "The goal is not\ncompletely met", "It is wrong to call this achieved", "too early to call it done",
		"0 checks passed", "0 of 3 passed", "passed: 0", "hasn't yet been achieved", "not even one check passed",
		"没有达成", "未达成", "尚未达成", "还没有完成", "没完成", "不算完成", "不能算通过", "未能通过", "没有通过", "并未达成", "并没有达成",
		"从未达成", "没有全部达成", "没有完全达成", "未完全达成", "远未达成", "离目标达成还差两条", "难以达成", "没能达成", "目标没有\n达成",
		"不达成", "不通过", "未（完全）达成", "没有一项通过", "0 项通过", "达成了没有。没有", "还没过", "第二条没过",
		"no alcanzado", "no se ha logrado", "no está cumplido", "aún no está cumplido", "todavía no se ha cumplido", "nunca alcanzado",
		"ningún criterio cumplido", "nada está hecho", "tampoco cumplido", "no totalmente cumplido", "no cumplida", "No han sido logrados",
		"ni logrado ni cumplido", "lejos de estar logrado", "sin ser alcanzado", "no ha sido, por ahora, alcanzado",
		"nicht erreicht", "noch nicht erfüllt", "nie erreicht", "kein Kriterium erfüllt", "keine Prüfung bestanden", "nichts ist fertig",
		"nicht ganz fertig", "Das Ziel wurde noch nicht erreicht", "Erreicht ist das Ziel nicht.", "keinesfalls erfüllt",
		"weder erreicht noch erfüllt", "nicht (vollständig) erreicht", "nicht alle Prüfungen bestanden", "nicht erfuellt",
		"niemals erreicht", "keines der Kriterien ist erfüllt", "erreicht wurde es nicht", "nicht wirklich erreicht",
	}},
	{"failure", document.NotYet, []string{
		"failed", "It fails.", "failure", "FAIL", "false", "not yet", "Not yet!", "not_yet", "not-yet", "NotYet", "unmet", "unachieved", "incomplete",
		"the work is incomplete", "unfinished", "One check failed", "two checks fail", "The export failed to start", "completely failed",
		"a complete failure", "1 of 12 failed", "failing", "3 failures", "Step 2 broke.", "No, the export is blank", "no", "No.", "nein", "Nein, leer",
		"0", "0.", "(0)", "0 - blank", "❌", "✗ export", "🔴", "⛔ blank", "❌ failed", "not yet ❌", "✘",
		"失败", "未通过", "不通过", "构建失败", "第 2 项失败", "false。",
		"fallido", "aún no", "todavía no", "incompleto", "la prueba falló", "No, falta el sello", "incumplido",
		"noch nicht", "gescheitert", "fehlgeschlagen", "unvollständig", "unerfüllt", "durchgefallen", "nicht bestanden",
	}},
	{"partial success", document.NotYet, []string{
		"mostly achieved", "largely met", "partly done", "partially met", "almost done", "nearly complete", "half done", "half-done",
		"hardly met", "barely done", "close to done", "achieved in part", "achieved except the export", "achieved except for one page",
		"Achieved.\n\nExcept for the export.", "Achieved. However, the export is missing.", "Achieved. But one page is blank.",
		"done apart from the docs", "Apart from the docs, done", "aside from the export all checks pass", "but for the export, achieved",
		"all but one check passed", "achieved, but the export is blank", "achieved (but slow)", "passed, however one page is blank",
		"achieved, although the docs are missing", "achieved, export missing", "achieved, one item remains", "achieved with one exception",
		"passed with 2 errors", "achieved with some issues", "achieved with reservations", "achieved, with caveats", "Yes, but not the export",
		"Yes, except for the docs", "yes, mostly", "✅ but the export is blank", "✅ mostly", "3 of 4 checks passed", "3/4 passed",
		"3 / 4 passed", "passed 3 out of 4", "two of three checks passed", "3 of the 4 checks pass", "90% done", "80 % complete", "90 % of the checks pass",
		"some checks passed", "most checks pass", "several criteria are met", "only the build passes", "passes only on Linux", "met in most cases",
		"achieved for some pages", "one of the checks passed", "Achieved\nexcept for the export", "achieved, pending review",
		"provisionally achieved", "in principle achieved", "the majority of checks passed", "1/3 ✅", "achieved on page 1/3",
		"部分达成", "大部分完成", "基本达成", "几乎完成", "达成,但导出缺失", "达成,不过还差导出", "除了导出,全部达成", "达成。但是导出没有做。", "3 项中 2 项通过",
		"通过 2/3", "三项中两项通过", "完成一半", "达成,还差一条", "仅构建通过", "只有构建通过", "完成 80%", "共 3 项,其中 2 项通过", "勉强通过", "达成,除导出外",
		"parcialmente cumplido", "casi alcanzado", "cumplido salvo la portada", "cumplido, excepto el índice", "apenas cumplido",
		"cumplido en parte", "alcanzado, pero falta el sello", "2 de 3 comprobaciones cumplidas", "a medias hecho", "cumplido, falta el pie",
		"dos de tres criterios cumplidos", "solo la portada está cumplida", "la mayoría está cumplida", "cumplido al 80 %",
		"teilweise erfüllt", "fast erreicht", "fast fertig", "bis auf den Stempel erfüllt", "erfüllt, außer dem Stempel", "erfüllt, ausser dem Stempel",
		"kaum erfüllt", "größtenteils erfüllt", "groesstenteils erfuellt", "erreicht, aber der Stempel fehlt", "zum Teil erfüllt",
		"halb fertig", "2 von 3 bestanden", "zwei von drei Prüfungen bestanden", "nur der Titel ist erfüllt", "weitgehend erreicht",
		"zu 90 % erfüllt", "erfüllt, jedoch langsam", "erreicht mit Einschränkungen", "einige Kriterien erfüllt", "erreicht, der Stempel fehlt",
	}},
	{"out of reach", document.Unreachable, []string{
		"unreachable", "impossible", "It is impossible to reach.", "unattainable", "cannot be verified", "could not be verified",
		"can't verify this here", "unable to verify", "impossible to verify", "not verifiable", "It is not possible to verify it here",
		"cannot be judged here", "this was never verified", "has not been verified", "We cannot verify that the goal is achieved",
		"nothing could be verified", "it is impossible that this is achieved", "unverifiable, there is no GPU", "neither verified nor verifiable",
		"无法验证", "没法验证", "验证不了", "无法判定", "无法达成", "不可达成", "达不到", "做不到", "不可能达成", "在此环境无法验证", "无法验证是否达成", "达成不了",
		"没有 GPU,无法验证", "不能验证",
		"no verificable", "inalcanzable", "imposible", "no se puede verificar", "no se pudo comprobar", "imposible de verificar",
		"No es posible verificarlo aquí", "no ha sido comprobado",
		"nicht überprüfbar", "nicht ueberpruefbar", "NICHT UBERPRUFBAR", "unerreichbar", "unmöglich", "unmoeglich", "konnte nicht überprüft werden",
		"lässt sich hier nicht verifizieren", "nicht verifizierbar",
	}},
	{"a failure beside something unverifiable", document.NotYet, []string{
		"not achieved, the export cannot be verified", "One check failed, another cannot be verified", "failed; the rest is unverifiable",
		"未达成,另有一条无法验证", "nicht erreicht, der Rest ist nicht überprüfbar", "no cumplido, lo demás no es verificable",
		"all checks pass except one that cannot be verified", "not yet verified", "noch nicht überprüft",
	}},
	{"two things at once", "", []string{
		"achieved or not yet", "achieved / not achieved", "achieved and not achieved", "pass | fail", "✅❌", "✅ not achieved", "❌ achieved",
		"true/false", "yes and no", "either achieved or unreachable", "达成/未达成", "[达成|未达成]", "达成或未达成", "alcanzado o no alcanzado",
		"erreicht oder nicht erreicht", "achieved, one check cannot be verified", "3 passed, 1 failed", "达成,一条无法验证", "✅ build\n❌ export",
		"- build: pass\n- export: fail", "- build passes.\n\n- export is not done.", "| build | ✅ |\n|---|---|\n| export | ❌ |", "Achieved. Not yet.",
		"The build passes. The goal is not achieved.", "Done\n\nNot achieved.", "not yet / unverifiable", "- build: pass\n  with details\n- export: fail",
		"✅ cannot be verified", "达成。未达成。",
		`{"verdict": "achieved", "state": "not_yet"}`,
	}},
	{"questions", "", []string{
		"achieved?", "Is it achieved?", "Achieved?!", "Done? I am not sure", "达成?", "达成了吗？", "是否达成", "¿Alcanzado?", "Erreicht?", "Yes?", "✅?",
		"Was the goal achieved? See the log.", "whether it is achieved is unclear", "ob erreicht, ist unklar",
	}},
	{"wishes and conditions", "", []string{
		"will be achieved", "should pass", "could be done", "would be complete", "once the docs are in it is done", "if the export works it is achieved",
		"when the docs are in, it is complete", "achieved if the export is ignored", "achieved, provided the docs follow", "done unless the export breaks it"[:4] + " unless you mind",
		"to be done", "needs to be completed", "can be achieved", "may be achieved", "probably achieved", "perhaps done", "it seems done",
		"the worker says it is done", "he claims that all checks pass", "should be built, run and passed", "will build and pass", "Yes, if you ignore the docs",
		"如果修好导出就达成", "将会达成", "应该能通过", "可以达成", "修好才能达成", "只要补上导出就完成", "预计完成", "待完成", "需要完成",
		"será alcanzado", "debería estar cumplido", "cuando esté la portada, cumplido", "cumplido si se ignora la portada", "puede ser logrado",
		"wird erreicht", "sollte erfüllt sein", "wenn der Stempel kommt, ist es erfüllt", "kann erreicht werden", "falls erreicht", "erreicht, sofern der Stempel kommt",
	}},
	{"words inside words and figures", "", []string{
		"notes", "node", "normal", "yesterday", "nothing special", "password", "bypass", "pass-through", "passenger", "undone.txt"[2:], "done.md exists",
		"see out/achieved.log"[4:], "abandoned", "condone", "metal", "helmet", "method", "completely unclear", "failover", "failsafe", "untrue?", "falsehood"[:4] + "n",
		"2", "10", "01", "0.9", "1.5", "-1", "+1", "1/3", "0/1", "1%", "100 %", "1st", "v1", "phase 1", "1 error", "0 errors", "no blockers", "1/2/2024", "#1", "1, 2 and 3",
		"1. the export is blank", "1) the export is blank", "1、导出缺失", "the complete suite", "a complete list", "pass rate 80 %", "false positives", "de hecho, el sello",
		"noveno", "nodo", "sinónimo", "Knoten", "erreichbar", "Erreichbarkeit", "Bestandenes", "完成度 80%", "通过率 80%", "通过日志确认导出为空", "不错", "未来", "功能",
		"cannot tell", "I am not sure", "see the log", "looks fine", "10 of 11 ok", "half of the pages are blank", "n/a", "", "-", "...", "TODO",
		"\"achieved\" is what the page says", "the page says “done”", "der Titel lautet „erreicht“", "the word `pass` is printed", "the label 'done' is shown",
		"~~achieved~~", "if any", "maybe", "(achieved"[1:4],
	}},
}

func TestParseVerdict_conclusions(t *testing.T) {
	for _, group := range conclusions {
		t.Run(group.class, func(t *testing.T) {
			for _, text := range group.texts {
				for _, form := range []string{"## Conclusion\n" + text + "\n\n## Reason\nThe log shows it, nothing failed, not done, achieved.\n", "结论：" + text} {
					if got := document.ParseVerdict(form).State; got != group.state {
						t.Errorf("%q is %q, want %q", form, got, group.state)
						break
					}
				}
			}
		})
	}
}

func TestParseVerdict_more_conclusions(t *testing.T) {
	data, err := os.ReadFile("testdata/conclusions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		want, text, ok := strings.Cut(strings.TrimRight(line, "\n"), " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		text = strings.ReplaceAll(text, `\n`, "\n")
		got := string(document.ParseVerdict("## Conclusion\n" + text).State)
		if got != want && (want != "not achieved" || got == "achieved") {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
