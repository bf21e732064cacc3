package transcript

// Policy says what a View leaves out of what is fed back to the model. The zero
// Policy changes nothing but what cannot be sent: entries come once, and text that
// is no Unicode is mended. In JSON its settings have the names of the tags.
type Policy struct {
	Expire ExpirePolicy `json:"ephemeral"`
	Trim   TrimPolicy   `json:"trim"`
	Prune  PrunePolicy  `json:"prune"`

	// Denied holds the tool_use ids of calls known to have been denied, beside
	// those that the transcript itself marks. A program that keeps its own
	// transcripts may leave no mark there.
	Denied map[string]bool `json:"-"`
	// Pending holds the tool_use ids of calls whose result is still to come, as
	// Repair reports them: they are not healed.
	Pending []string `json:"-"`
	// Repeat makes the View take these decisions again and none that would change
	// what was sent before; nil decides anew. See Decisions.
	Repeat *Decisions `json:"-"`
	// NewID makes the uuids of entries that a View puts in. nil derives them from
	// what they answer, so that the same View has the same ids.
	NewID func() string `json:"-"`
}

// ExpirePolicy replaces results of ephemeral commands (shell.Ephemeral) that have
// gone stale by a note. Nothing of them is written anywhere: what was stored stays
// stored.
type ExpirePolicy struct {
	Enabled    bool `json:"enabled"`
	KeepRecent int  `json:"keep_recent"` // newest ephemeral results that stay; below 0 is 0
	MaxChars   int  `json:"max_chars"`   // longer results stay and are not counted; 0 is 2000
	// Text is the note. {cmd} stands for the command in backticks, cut at 200
	// characters; {age} for how many ephemeral results there are from this one to
	// the newest, 1 for the newest itself. Empty: DefaultExpireText.
	Text string `json:"text"`
}

// TrimPolicy moves old large results to files. The View names them in
// Report.Spills and the caller writes them before it uses the View.
type TrimPolicy struct {
	Enabled    bool   `json:"enabled"`
	KeepRecent int    `json:"keep_recent"`   // newest large results that stay; below 0 is 0
	MinChars   int    `json:"min_chars"`     // shorter results stay and are not counted; 0 is 2000
	SpillDir   string `json:"spill_dirname"` // as it shall stand in the note; empty is .flower/spill
	// Text is the pointer. {n} stands for the characters moved, {path} for the
	// file. Empty: DefaultTrimText.
	Text string `json:"text"`
}

// PrunePolicy removes or mends what only confuses. The zero PrunePolicy is off.
// Any other one removes denied calls beyond the newest KeepDenials, call and
// result together.
type PrunePolicy struct {
	DropAPIErrors        bool   `json:"drop_api_errors"`       // synthetic messages about failed requests
	NeutralizeInterrupts bool   `json:"neutralize_interrupts"` // results that only say that a person interrupted
	InterruptText        string `json:"interrupt_text"`        // empty: DefaultInterruptText
	HealOrphans          bool   `json:"heal_orphans"`          // a call without a result gets one
	OrphanText           string `json:"orphan_text"`           // empty: DefaultOrphanText
	KeepDenials          int    `json:"keep_denials"`          // newest denied calls that stay; below 0 is 0
}

// The texts that a Policy without its own uses.
const (
	DefaultExpireText    = "[The output of {cmd} was removed: {age} looks ago, no longer current. Run it again if you need it.]"
	DefaultTrimText      = "[{n} characters moved to {path}. Read that file, or a part of it, if you need them.]"
	DefaultInterruptText = "[A person interrupted this call. Nothing is wrong with the environment.]"
	DefaultOrphanText    = "[No result of this call was recorded. It may or may not have taken effect: look at the present state before you rely on it.]"
)

const (
	defaultMaxChars = 2000
	defaultMinChars = 2000
	defaultSpillDir = ".flower/spill"
)

// filled is p with the defaults put in.
func (p Policy) filled() Policy {
	p.Expire.KeepRecent = max(p.Expire.KeepRecent, 0)
	p.Trim.KeepRecent = max(p.Trim.KeepRecent, 0)
	p.Expire.MaxChars = orNumber(p.Expire.MaxChars, defaultMaxChars)
	p.Trim.MinChars = orNumber(p.Trim.MinChars, defaultMinChars)
	p.Expire.Text = orText(p.Expire.Text, DefaultExpireText)
	p.Trim.Text = orText(p.Trim.Text, DefaultTrimText)
	p.Trim.SpillDir = orText(p.Trim.SpillDir, defaultSpillDir)
	if p.Prune != (PrunePolicy{}) {
		p.Prune.InterruptText = orText(p.Prune.InterruptText, DefaultInterruptText)
		p.Prune.OrphanText = orText(p.Prune.OrphanText, DefaultOrphanText)
	}
	return p
}

func orNumber(n, or int) int {
	if n == 0 {
		return or
	}
	return n
}

func orText(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// Texts are the wordings that a View has used.
type Texts struct {
	Expire    string `json:"expire"`
	Trim      string `json:"trim"`
	SpillDir  string `json:"spill_dir"`
	Interrupt string `json:"interrupt"`
	Orphan    string `json:"orphan"`
}

// or is t with the words of other where it has none.
func (t Texts) or(other Texts) Texts {
	return Texts{
		Expire:    orText(t.Expire, other.Expire),
		Trim:      orText(t.Trim, other.Trim),
		SpillDir:  orText(t.SpillDir, other.SpillDir),
		Interrupt: orText(t.Interrupt, other.Interrupt),
		Orphan:    orText(t.Orphan, other.Orphan),
	}
}

// Decisions are what a View has changed, so that a later View of the same and
// further entries changes the same and the model is sent the same beginning byte
// for byte. Keep them (as JSON) with the session and give them as Policy.Repeat as
// long as the provider may still have that beginning in its cache; when it has gone
// cold, decide anew.
//
// A View that repeats makes new decisions only about what cannot have been sent:
// API errors, interrupted results behind the model's last reply, and calls without
// a result. Its Report holds the Decisions to keep from then on. A session that has
// been sent without a View, since it was new, repeats the zero Decisions.
type Decisions struct {
	Texts     Texts    `json:"texts"`
	APIErrors bool     `json:"api_errors,omitempty"` // they are left out
	Expired   []Place  `json:"expired,omitempty"`
	Trimmed   []Place  `json:"trimmed,omitempty"`
	Neutral   []Place  `json:"neutral,omitempty"`
	Dropped   []string `json:"dropped,omitempty"` // tool_use ids of denied calls
	Healed    []Heal   `json:"healed,omitempty"`
	Kept      int      `json:"kept,omitempty"` // large results that were recent then
}

// Place is a result that a View has changed.
type Place struct {
	Entry string `json:"e"`           // uuid; "#n" for the n-th entry when it has none
	Block int    `json:"b,omitempty"` // index in message.content
	Age   int    `json:"a,omitempty"` // of an expired one, then
}

// Heal is an entry that a View has put in.
type Heal struct {
	After string `json:"e"`  // the assistant entry whose calls it answers, named as in Place
	UUID  string `json:"id"` // of the entry put in
}
