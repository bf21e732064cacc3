package workbench

import "fmt"

// words are the texts of one language.
type words struct {
	title, generated string
	empty, notListed string

	rulesText string // %[1]s scripts, %[2]s artifacts, %[3]s notes
	absolute  string
	nothing   string
	more      string // %d files, %s index
}

func (w *words) rules(scripts, artifacts, notes string) string {
	return fmt.Sprintf(w.rulesText, scripts, artifacts, notes)
}

func wordsFor(lang string) (*words, error) {
	switch lang {
	case "", "en":
		return &english, nil
	case "zh":
		return &chinese, nil
	default:
		return nil, fmt.Errorf("workbench: language %q is not known: use en or zh", lang)
	}
}

var english = words{
	title:     "Workbench",
	generated: "Written anew after every change; edits here are lost.",
	empty:     "(empty)",
	notListed: "… and more that are not listed",

	rulesText: `# Workbench

What shall outlive this session goes into files here:

1. A script that will run a second time: into %[1]s/, with ` + "`# desc: what it does`" + ` among its first lines. Look there before you write one.
2. Output of more than 2000 characters: into %[2]s/; your reply gives only its path and the conclusion.
3. Decisions: into %[3]s/, one file each, with the reason.
`,
	absolute: "\nThe workbench lies outside the workspace: use its absolute paths as they stand here.",
	nothing:  "Nothing is there yet.",
	more:     "- … and %d more, see %s",
}

var chinese = words{
	title:     "工作台",
	generated: "每次变动后自动重写，在此处的修改会丢失。",
	empty:     "（空）",
	notListed: "……还有未列出的文件",

	rulesText: `# 工作台

需要比本次会话活得更久的东西，都写成这里的文件：

1. 会再次运行的脚本：放进 %[1]s/，在开头几行写上 ` + "`# desc: 做什么用`" + `。动手写之前先去那里找找。
2. 超过 2000 个字符的输出：放进 %[2]s/，回复里只给路径和结论。
3. 决定：放进 %[3]s/，一事一文件，写明理由。
`,
	absolute: "\n工作台在工作区之外：请原样使用这里给出的绝对路径。",
	nothing:  "目前还没有内容。",
	more:     "- ……还有 %d 个，见 %s",
}
