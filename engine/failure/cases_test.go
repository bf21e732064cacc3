package failure_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// jsonCase is one line of a file in testdata: a message, or several, and the
// right answer.
type jsonCase struct {
	ID   string
	In   any
	Want any
	Note string
}

// texts gives the messages; null is the empty one.
func (c jsonCase) texts() []string {
	list, ok := c.In.([]any)
	if !ok {
		list = []any{c.In}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i], _ = v.(string)
	}
	return texts
}

func loadCases(t testing.TB, name string) []jsonCase {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []jsonCase
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var c jsonCase
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v in %s", name, err, scanner.Text())
		}
		cases = append(cases, c)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no case", name)
	}
	return cases
}
