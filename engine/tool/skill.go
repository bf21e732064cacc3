package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowerlua/flower/internal/spell"
)

// Builtin are the names of the tools that flower brings; those beside a Set's are
// made by harnesses. Programs that embed it may add others.
var Builtin = []string{"Agent", "Bash", "BashOutput", "Edit", "Glob", "Grep", "KillBash", "NotebookEdit", "Read", SkillTool, "TodoWrite",
	"WebFetch", "WebSearch", "Write"}

// SkillTool is the name of the tool with which an agent reads a skill.
const SkillTool = "Skill"

// Skill is a text that says how something is done.
type Skill struct {
	Name        string // <plugin>:<name>
	Description string // when to read it
	Text        string
	Dir         string // where its files are, absolute
}

// maxSkillHelp is how many characters of a skill's description the tool's own shows.
const maxSkillHelp = 1000

const skillIntro = `Reads a skill: how something is to be done here, written down by those who know. When your task is what a skill describes, read it before you begin, and follow it. Its files lie in the folder that it names; read them when it tells you to.

The skills there are:
`

const skillSchema = `{"type":"object","properties":{
"skill":{"type":"string","description":"The name of the skill"},
"args":{"type":"string","description":"What the skill is to be used on, where it asks for that"}},
"required":["skill"]}`

// NewSkillTool makes the tool that reads these skills. Its description lists them by
// name, so that the same skills give the same bytes.
func NewSkillTool(skills []Skill) Tool {
	skills = slices.Clone(skills)
	slices.SortFunc(skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	var about strings.Builder
	about.WriteString(skillIntro)
	for _, s := range skills {
		help := s.Description
		if runes := []rune(help); len(runes) > maxSkillHelp {
			help = string(runes[:maxSkillHelp]) + "…"
		}
		fmt.Fprintf(&about, "- %s: %s\n", s.Name, help)
	}
	return Func{
		Def: Definition{Name: SkillTool, Description: strings.TrimSpace(about.String()), Schema: json.RawMessage(skillSchema), ReadOnly: true},
		Call: func(_ context.Context, c Call) Result {
			var in struct {
				Skill string `json:"skill"`
				Args  string `json:"args"`
			}
			if err := decode(c, &in, "skill"); err != nil {
				return inputError(SkillTool, err)
			}
			s, err := FindSkill(skills, in.Skill)
			if err != nil {
				return ErrorResult(err.Error())
			}
			return TextResult(s.read(in.Args))
		},
	}
}

// read is the skill as the agent sees it.
func (s Skill) read(args string) string {
	text := s.Text
	switch {
	case strings.Contains(text, "$ARGUMENTS"):
		text = strings.ReplaceAll(text, "$ARGUMENTS", args)
	case strings.TrimSpace(args) != "":
		text += "\n\nARGUMENTS: " + args
	}
	return fmt.Sprintf("Base directory for this skill: %s\n\n%s", s.Dir, text)
}

// FindSkill finds a skill by its whole name, or by what stands behind the plugin's
// where only one is called so. The error says which there are.
func FindSkill(skills []Skill, name string) (Skill, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	var names, near []string
	var short []Skill
	for _, s := range skills {
		if s.Name == name {
			return s, nil
		}
		_, own, _ := strings.Cut(s.Name, ":")
		if own == name {
			short = append(short, s)
		}
		names, near = append(names, s.Name), append(near, s.Name, own)
	}
	switch {
	case len(short) == 1:
		return short[0], nil
	case len(short) > 1:
		return Skill{}, fmt.Errorf("there are several skills called %q: %s and %s; give the whole name", name, short[0].Name, short[1].Name)
	case len(names) == 0:
		return Skill{}, fmt.Errorf("there is no skill %q, and no other: plugins bring them", name)
	}
	slices.Sort(names)
	return Skill{}, fmt.Errorf("there is no skill %q%s; there are: %s", name, spell.Hint(name, near), strings.Join(names, ", "))
}
