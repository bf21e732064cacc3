package human

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowerlua/flower/engine/document"
	"github.com/flowerlua/flower/engine/event"
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
	sink := c.sink
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
	c.emit(sink, event.Event{Kind: event.Ask, Text: text, Payload: map[string]any{"kind": "mail", "id": r.ID, "amended": r.Amended}})
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
	return appendFile(c.o.AmendPath, document.BriefAddition(title, text))
}

func (c *Channel) logQuestion(q Question) {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s (%s)\n\n%s\n", q.ID, c.stamp(), q.State, q.Text)
	for i, option := range q.Options {
		fmt.Fprintf(&b, "%d. %s\n", i+1, option)
	}
	if q.Answer != "" {
		fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(q.Answer, "\n", "\n> "))
	}
	b.WriteByte('\n')
	c.log(b.String())
}

func (c *Channel) log(text string) {
	if c.o.LogPath != "" {
		c.note(appendFile(c.o.LogPath, text))
	}
}

func (c *Channel) stamp() string { return c.now().Format("2006-01-02 15:04:05") }

// appendFile adds a text to a file, which is made when it is not there, and syncs
// it: what a person was told is written is written.
func appendFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
