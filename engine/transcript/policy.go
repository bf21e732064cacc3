package transcript

// Policy says what a View leaves out of what is fed back to the model. The zero
// Policy changes nothing. Texts are templates: {cmd} and {age} in Expire.Text,
// {n} and {path} in Trim.Text.
type Policy struct {
	Expire ExpirePolicy
	Trim   TrimPolicy
	Prune  PrunePolicy
}

// ExpirePolicy replaces results of ephemeral commands that have gone stale.
type ExpirePolicy struct {
	Enabled    bool
	KeepRecent int // newest ephemeral results that stay
	MaxChars   int // longer results stay
	Text       string
}

// TrimPolicy moves old large results to files.
type TrimPolicy struct {
	Enabled    bool
	KeepRecent int // newest results that stay
	MinChars   int // shorter results stay
	SpillDir   string
	Text       string
}

// PrunePolicy removes or mends what only confuses.
type PrunePolicy struct {
	DropAPIErrors        bool
	NeutralizeInterrupts bool
	InterruptText        string
	HealOrphans          bool
	OrphanText           string
	KeepDenials          int // newest denied calls that stay; negative keeps all
}
