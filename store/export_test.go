package store

import "time"

// DataEnd is dataEnd, for tests that copy files with holes.
var DataEnd = dataEnd

// WriteMarker makes the store in dir one of another form, so many newer.
func WriteMarker(dir string, newer int) error {
	m, err := readMarker(dir)
	if err != nil {
		return err
	}
	m.Format = format + newer
	return writeMarker(dir, m)
}

// AtBoot sets the options so that the machine seems to have been started anew when
// the name changes.
func AtBoot(o Options, name string) *Options {
	o.boot = func() string { return name }
	return &o
}

// Frozen is a clock that stands still.
func Frozen() time.Time { return time.Unix(1_700_000_000, 0) }

// TurnJournal has the owner's database take what is in the journal, which it removes.
func TurnJournal(s *Store) error { return s.link.b.(*owner).turnJournal() }
