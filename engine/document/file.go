package document

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/flowerlua/flower/internal/atomicfile"
)

// maxFile is the size in bytes up to which a file is taken for a document.
const maxFile = 4 << 20

// fileNames are the names of the files by language; %s is the step.
var fileNames = map[string]map[Kind]string{
	English: {KindBrief: "brief.md", KindGoal: "goal.md", KindQuestions: "qa.md", KindHandoff: "handoff-%s.md"},
	Chinese: {KindBrief: "需求.md", KindGoal: "目标.md", KindQuestions: "问答记录.md", KindHandoff: "交接-%s.md"},
}

func load(kind Kind, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", kind, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", kind, err)
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("read %s: %s is larger than %d bytes, so it is no document: give the right file or shorten it", kind, path, maxFile)
	}
	return string(data), nil
}

func (s sheet) write(path, lang string, remembered *string) error {
	if path == "" {
		path = *remembered
	}
	if path == "" {
		return errors.New("write " + string(s.kind) + ": no path was given and the document has no file yet: give one")
	}
	if err := atomicfile.Write(path, []byte(s.markdown(lang)), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", s.kind, err)
	}
	*remembered = path
	return nil
}

func fileName(kind Kind, lang, step string) string {
	name := fileNames[language(lang)][kind]
	if kind == KindHandoff {
		return fmt.Sprintf(name, fileStem(step))
	}
	return name
}

// fileStem is the name of a step as a part of a file name.
func fileStem(step string) string {
	stem := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, oneLine(step))
	if stem == "" {
		return "step"
	}
	return firstChars(stem, 80)
}

func findFile(dir string, kind Kind, lang, step string) string {
	wanted := filepath.Join(dir, fileName(kind, lang, step))
	for _, l := range []string{lang, English, Chinese} {
		path := filepath.Join(dir, fileName(kind, l, step))
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return wanted
}
