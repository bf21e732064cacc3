package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
)

// errorTypes are the types in the bodies of APIs (Anthropic, OpenAI and what
// follows them, Bedrock, Google), in lower case. A type that is missing here
// is read as words.
var errorTypes = map[string]Class{
	"api_error":             Transient,
	"conflict_error":        Transient,
	"overloaded_error":      Transient,
	"rate_limit_error":      Transient,
	"timeout_error":         Transient,
	"invalid_request_error": Fatal,
	"authentication_error":  Fatal,
	"billing_error":         Fatal,
	"permission_error":      Fatal,
	"not_found_error":       Fatal,
	"request_too_large":     Fatal,

	// Of our own client: what answers is not the API.
	"wrong_address": Fatal,

	"server_error":               Transient,
	"rate_limit_exceeded":        Transient,
	"insufficient_quota":         Fatal,
	"billing_hard_limit_reached": Fatal,
	"context_length_exceeded":    Fatal,
	"content_filter":             Fatal,

	"modeltimeoutexception":         Transient,
	"modelnotreadyexception":        Transient,
	"modelstreamerrorexception":     Transient,
	"validationexception":           Fatal,
	"resourcenotfoundexception":     Fatal,
	"servicequotaexceededexception": Fatal,
	"expiredtokenexception":         Fatal,

	"aborted":             Transient,
	"internal":            Transient,
	"resource_exhausted":  Transient,
	"cancelled":           Unknown,
	"failed_precondition": Fatal,
	"not_found":           Fatal,
	"unimplemented":       Fatal,
}

// classifyTyped walks the tree of wrapped errors: Fatal if any of them is,
// else Transient if any is.
func classifyTyped(err error) Class {
	class, decided := classifyOne(err)
	if decided || class == Fatal {
		return class
	}
	switch wrapped := err.(type) {
	case interface{ Unwrap() error }:
		if inner := wrapped.Unwrap(); inner != nil {
			class = max(class, classifyTyped(inner))
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if inner != nil {
				class = max(class, classifyTyped(inner))
			}
		}
	}
	return class
}

// classifyOne looks at err itself, not at what it wraps. decided means that
// what it wraps says nothing more.
func classifyOne(err error) (class Class, decided bool) {
	switch e := err.(type) {
	case Response:
		class = classifyResponse(e)
		return class, class != Unknown
	case *exec.ExitError:
		return classifyExit(e), true
	case *exec.Error:
		return Fatal, true
	case syscall.Errno:
		return classifyErrno(e), true
	case *net.DNSError:
		// Without a network every name is unknown, so "no such host" too.
		return Transient, true
	case *net.AddrError, *net.ParseError, net.InvalidAddrError, net.UnknownNetworkError:
		return Fatal, true
	case *url.Error:
		if e.Op == "parse" {
			return Fatal, true
		}
	case *setupError,
		*tls.CertificateVerificationError, x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError,
		x509.UnhandledCriticalExtension, x509.ConstraintViolationError, x509.SystemRootsError, x509.InsecureAlgorithmError:
		return Fatal, true
	}
	switch err {
	case context.Canceled, fs.ErrNotExist, fs.ErrPermission, exec.ErrNotFound, exec.ErrDot, http.ErrSchemeMismatch:
		return Fatal, true
	case context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed:
		return Transient, true
	}
	if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
		return Transient, false
	}
	return Unknown, false
}

func classifyResponse(e Response) Class {
	class := max(typeClass(e.ErrorType()), statusClass(e.StatusCode()))
	if class == Transient && rateLimited(e) && read(e.Error()).outOfCredit() {
		return Fatal
	}
	return class
}

func typeClass(name string) Class {
	if class, ok := errorTypes[strings.ToLower(name)]; ok {
		return class
	}
	return ClassifyText(name)
}

func rateLimited(e Response) bool {
	return e.StatusCode() == http.StatusTooManyRequests || e.ErrorType() == "rate_limit_error"
}

func classifyExit(e *exec.ExitError) Class {
	if class := ClassifyText(string(e.Stderr)); class != Unknown {
		return class
	}
	// A shell's and env's own words for "cannot be run" and "is not there".
	if code := e.ExitCode(); code == 126 || code == 127 {
		return Fatal
	}
	return Unknown
}

func classifyErrno(e syscall.Errno) Class {
	switch e {
	case syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT,
		syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENETRESET,
		syscall.ENOTCONN, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.EAGAIN, syscall.EINTR, syscall.EBUSY,
		syscall.EMFILE, syscall.ENFILE:
		return Transient
	case syscall.EACCES, syscall.EPERM, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOSPC, syscall.EDQUOT,
		syscall.EROFS, syscall.ENAMETOOLONG, syscall.E2BIG, syscall.ENOEXEC, syscall.ELOOP:
		return Fatal
	default:
		return Unknown
	}
}
