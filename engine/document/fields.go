package document

// This file is data: the headings a document is written with and the ones it
// is recognised by. A new alias is one more name in a cell.

// names are the headings of one field in the four languages. The first name
// of a cell is the one written (en and zh; the others are only read).
type names struct {
	field Field
	en    []string
	zh    []string
	es    []string
	de    []string
}

var briefNames = []names{
	{
		field: FieldGoal,
		en:    []string{"Goal", "Objective", "Aim"},
		zh:    []string{"目标"},
		es:    []string{"Objetivo", "Meta"},
		de:    []string{"Ziel", "Zielsetzung"},
	},
	{
		field: FieldAccept,
		en:    []string{"Acceptance criteria", "Acceptance", "Acceptance conditions", "Done when", "Success criteria"},
		zh:    []string{"验收标准", "验收条件", "验收"},
		es:    []string{"Criterios de aceptación", "Aceptación"},
		de:    []string{"Abnahmekriterien", "Akzeptanzkriterien", "Abnahme"},
	},
	{
		field: FieldBounds,
		en:    []string{"Boundaries", "Bounds", "Out of scope", "Non-goals", "Constraints", "Limits"},
		zh:    []string{"边界", "范围边界", "不做什么"},
		es:    []string{"Límites", "Alcance excluido", "Fuera de alcance"},
		de:    []string{"Grenzen", "Abgrenzung", "Nicht-Ziele"},
	},
	{
		field: FieldUnknowns,
		en: []string{"Unknowns and assumptions", "Unknowns & assumptions", "Assumptions and unknowns",
			"Unknowns", "Assumptions", "Open questions"},
		zh: []string{"未知与假设", "未知项与假设", "已知未知", "未知项", "假设", "未知"},
		es: []string{"Incógnitas y supuestos", "Supuestos", "Incógnitas"},
		de: []string{"Unbekanntes und Annahmen", "Annahmen", "Offene Fragen"},
	},
}

var goalNames = []names{
	{
		field: FieldStatement,
		en:    []string{"Goal", "Objective", "Done when"},
		zh:    []string{"目标", "完成标志"},
		es:    []string{"Objetivo"},
		de:    []string{"Ziel"},
	},
	{
		field: FieldChecks,
		en:    []string{"Checks", "Checklist", "Verdict checklist", "Acceptance checks"},
		zh:    []string{"判定清单", "判定条件", "验收清单", "检查项", "判定"},
		es:    []string{"Lista de comprobación", "Comprobaciones"},
		de:    []string{"Prüfliste", "Checkliste", "Prüfpunkte"},
	},
}

var verdictNames = []names{
	{
		field: FieldState,
		en:    []string{"Conclusion", "Verdict"},
		zh:    []string{"结论", "判定"},
		es:    []string{"Conclusión", "Veredicto"},
		de:    []string{"Ergebnis", "Urteil", "Fazit"},
	},
	{
		field: FieldReason,
		en:    []string{"Reason", "Rationale", "Because"},
		zh:    []string{"理由", "依据"},
		es:    []string{"Razón", "Motivo"},
		de:    []string{"Begründung", "Grund"},
	},
	{
		field: FieldFailed,
		en:    []string{"Not passed", "Failed", "Failed checks", "Unmet"},
		zh:    []string{"未通过"},
		es:    []string{"No superados", "Fallidos"},
		de:    []string{"Nicht bestanden", "Offen"},
	},
}

var handoffNames = []names{
	{
		field: FieldDoing,
		en:    []string{"In progress", "Doing", "What is being done", "Current work", "Progress"},
		zh:    []string{"现在在做什么", "现在在做", "当前进度", "进度"},
		es:    []string{"En curso", "Qué se está haciendo"},
		de:    []string{"In Arbeit", "Aktueller Stand"},
	},
	{
		field: FieldDecided,
		en:    []string{"Decided", "Decisions", "Already decided"},
		zh:    []string{"已经定下的", "已定的事", "决策"},
		es:    []string{"Decidido", "Decisiones"},
		de:    []string{"Entschieden", "Entscheidungen"},
	},
	{
		field: FieldDeadEnds,
		en:    []string{"Dead ends", "What does not work", "Tried and failed", "Ruled out"},
		zh:    []string{"走不通的路", "试过不行的", "排除的路"},
		es:    []string{"Callejones sin salida", "Lo que no funciona"},
		de:    []string{"Sackgassen", "Was nicht geht"},
	},
	{
		field: FieldNext,
		en:    []string{"Next step", "Next steps", "Next"},
		zh:    []string{"下一步"},
		es:    []string{"Siguiente paso", "Próximo paso"},
		de:    []string{"Nächster Schritt", "Nächste Schritte"},
	},
	{
		field: FieldScene,
		en:    []string{"Scene", "Files", "Where things are", "Pointers"},
		zh:    []string{"现场", "文件"},
		es:    []string{"Escena", "Archivos"},
		de:    []string{"Lage", "Dateien"},
	},
}

// placeholders stand for an empty field.
var placeholders = []string{
	"(not filled in)", "(none)", "(empty)", "(未填)", "(空)", "(无)",
	"(sin rellenar)", "(nicht ausgefüllt)", "(keine)",
}

// noneWords stand for an empty list of failed checks, besides the placeholders.
var noneWords = []string{"none", "n/a", "无", "ninguno", "ninguna", "keine"}

// unverifiableMarks begin, in brackets, the remark that a check cannot be
// verified where it is judged. A colon and a reason may follow.
var unverifiableMarks = []string{"cannot verify here", "此环境无法验证", "无法验证", "no verificable aquí", "hier nicht überprüfbar"}

// degradedMarks say that a handoff was put together without the model.
var degradedMarks = map[string]string{
	"en": "[degraded: handoff not written]",
	"zh": "[降级:交接没写成]",
}
