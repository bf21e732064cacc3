package failure

import (
	"strings"
)

// class asks the tables in their order.
func (m message) class() Class {
	named := m.namedType()
	if named == Fatal || m.outOfCredit() || m.overflow() || fatal.in(m.words) || fatalHan.in(m.han) {
		return Fatal
	}
	status := m.status()
	switch {
	case status == Fatal:
		return Fatal
	case named == Transient, status == Transient, m.usedUp(), transient.in(m.words), transientHan.in(m.han):
		return Transient
	case perhapsFatal.in(m.words):
		return Fatal
	default:
		return Unknown
	}
}

// outOfCredit tells limits of money from limits that refill: a quota without
// a word on when it refills is taken for one of money.
func (m message) outOfCredit() bool {
	if money.in(m.words) || moneyHan.in(m.han) {
		return true
	}
	return m.usedUp() && !refills.in(m.words) && !refillsHan.in(m.han)
}

// usedUp reports a quota that is used up, of whatever kind.
func (m message) usedUp() bool { return quota.in(m.words) || quotaHan.in(m.han) }

// status is the class of the statuses that the message names, Fatal first.
func (m message) status() Class {
	class := Unknown
	for _, code := range statuses(m.flat) {
		class = max(class, statusClass(code))
	}
	return class
}

var identifier = lazily(`[a-z]+(?:_[a-z]+)+|[a-z]+exception`)

// namedType is the class of the API error types that the message names.
func (m message) namedType() Class {
	class := Unknown
	if !strings.Contains(m.flat, "_") && !strings.Contains(m.flat, "exception") {
		return class
	}
	for _, name := range identifier().FindAllString(m.flat, -1) {
		class = max(class, errorTypes[name])
	}
	return class
}
