package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect allows reading, and writing to nowhere or to another descriptor.
func (j *judge) redirect(r *syntax.Redirect) bool {
	if r.N != nil && !digits(r.N.Value) {
		return j.refuse(r, "{%s} assigns a variable of the shell", strings.Trim(r.N.Value, "{}"))
	}
	if r.Word != nil && !j.expand(r.Word) {
		return false
	}
	target := j.classify(r.Word)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		j.rewires = j.rewires || r.N != nil
		if !plainDelimiter(r.Word) {
			return j.refuse(r, "where this here-document ends is not clear: use a word such as 'EOF'")
		}
		return r.Hdoc == nil || j.expand(r.Hdoc)
	case syntax.WordHdoc:
		j.rewires = j.rewires || r.N != nil
		return true
	case syntax.RdrIn:
		j.rewires = j.rewires || r.N != nil
		if strings.HasPrefix(target.text, "/dev/tcp/") || strings.HasPrefix(target.text, "/dev/udp/") {
			return j.refuse(r, "%s opens a network connection", target.text)
		}
		return true
	case syntax.DplIn, syntax.DplOut:
		return j.duplicate(r, target)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return j.output(r, target)
	}
	return j.refuse(r, "this redirection can create or change a file")
}

// duplicate is N>&M, N<&M, N>&-; with a name instead of M it writes a file.
func (j *judge) duplicate(r *syntax.Redirect, target word) bool {
	if !target.exact || target.text != "-" && !digits(target.text) {
		return j.refuse(r, "it writes to a file: only another descriptor or /dev/null may take the output")
	}
	switch target.text {
	case "1", "2", "-":
		j.rewires = j.rewires || r.Op == syntax.DplIn
	default:
		j.rewires = true
	}
	return true
}

func (j *judge) output(r *syntax.Redirect, target word) bool {
	if target.exact {
		switch target.text {
		case "/dev/null":
			return true
		case "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2":
			j.reopens = true
			return true
		}
	}
	return j.refuse(r, "it writes to a file: only /dev/null or another descriptor may take the output")
}

// plainDelimiter is EOF, 'EOF' or "EOF": shells and parsers agree on those.
func plainDelimiter(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && !q.Dollar && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	switch p := part.(type) {
	case *syntax.Lit:
		return identifier(p.Value)
	case *syntax.SglQuoted:
		return !p.Dollar && identifier(p.Value)
	}
	return false
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
