package human

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/event"
	"github.com/flowerlua/flower/internal/atomicfile"
)

// maxMail bounds what waits in the inbox, in mails: beyond it the oldest is
// dropped, with a note. The brief has all of it.
const maxMail = 100

func (c *Channel) send(text string) Receipt {
	text = strings.TrimSpace(text)
	if text == "" {
		return Receipt{Err: errors.New("the mail is empty")}
	}
	c.mu.Lock()
	c.mail = append(c.mail, text)
	if len(c.mail) > maxMail {
		c.mail = c.mail[1:]
		c.errs = append(c.errs, errors.New("the inbox was full; the oldest mail was dropped"))
	}
	c.lastID++
	r := Receipt{ID: fmt.Sprintf("m%d", c.lastID)}
	c.mu.Unlock()

	keepErr := c.change(context.Background(), "mail", func(old []byte) any {
		var waiting []string
		_ = json.Unmarshal(old, &waiting) // absent: none waits
		waiting = append(waiting, text)
		return waiting[max(0, len(waiting)-maxMail):]
	})
	amendErr := c.amend(text)
	r.Amended = c.o.AmendPath != "" && amendErr == nil
	r.Err = errors.Join(keepErr, amendErr)
	c.note(r.Err)
	c.log(fmt.Sprintf("## %s %s\n\n%s\n\n", mailHeading.in(c.o.Lang), c.stamp(), text))
	c.emit(c.sinkFor(""), event.Event{Kind: event.Ask, Text: text, Payload: map[string]any{"kind": "mail", "id": r.ID, "amended": r.Amended}})
	return r
}

func (c *Channel) inbox() string {
	c.mu.Lock()
	taken := c.mail
	c.mail = nil
	c.mu.Unlock()
	if len(taken) == 0 {
		return noMail.in(c.o.Lang)
	}
	c.note(c.change(context.Background(), "mail", func([]byte) any { return []string{} }))
	return strings.Join(taken, "\n\n---\n\n")
}

// amend appends a mail to the brief, as an addition that parsing keeps.
func (c *Channel) amend(text string) error {
	if c.o.AmendPath == "" {
		return nil
	}
	title := fmt.Sprintf("%s (%s)", amendHeading.in(c.o.Lang), c.stamp())
	return atomicfile.Append(c.o.AmendPath, []byte(document.BriefAddition(title, text)), 0o644)
}

func (c *Channel) logQuestion(q Question) {
	c.log(fmt.Sprintf("## %s %s (%s)\n", q.ID, c.stamp(), q.State) + q.record())
}

// logMissing logs a question that ended in a process that died before it could.
func (c *Channel) logMissing(q Question) {
	log, err := os.ReadFile(c.o.LogPath)
	if err == nil && strings.Contains(string(log), "## "+q.ID+" ") && strings.Contains(string(log), q.record()) {
		return
	}
	c.logQuestion(q)
}

// record is what the log says of a question below its heading.
func (q Question) record() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", q.Text)
	for i, option := range q.Options {
		fmt.Fprintf(&b, "%d. %s\n", i+1, option)
	}
	if q.Answer != "" {
		fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(q.Answer, "\n", "\n> "))
	}
	b.WriteByte('\n')
	return b.String()
}

func (c *Channel) log(text string) {
	if c.o.LogPath != "" {
		c.note(atomicfile.Append(c.o.LogPath, []byte(text), 0o644))
	}
}

func (c *Channel) stamp() string { return c.now().Format("2006-01-02 15:04:05") }
