package transcript

// relink attaches every entry whose parent went to its nearest ancestor that
// stays, or to none.
func (v *viewer) relink(list []kept) {
	r := relinker{gone: v.gone}
	for i := range list {
		k := &list[i]
		if parent, ok := r.ancestor(k.parent); ok && parent != k.UUID {
			k.parent = parent
		}
	}
}

// relinker follows parents through entries that are gone, each only once.
type relinker struct {
	gone  map[string]string // uuid → parent
	found map[string]string
	loops map[string]bool
}

// ancestor is the nearest uuid from uuid upwards that is not gone, empty when the
// chain ends. It is not ok when the chain goes round in a circle: then nobody
// knows where the entry belonged.
func (r *relinker) ancestor(uuid string) (string, bool) {
	if _, gone := r.gone[uuid]; !gone {
		return uuid, true
	}
	if r.found == nil {
		r.found, r.loops = map[string]string{}, map[string]bool{}
	}
	var trail []string
	onTrail := map[string]bool{}
	at := uuid
	for !onTrail[at] && !r.loops[at] {
		if end, known := r.found[at]; known {
			at = end
			break
		}
		parent, gone := r.gone[at]
		if !gone {
			break
		}
		onTrail[at] = true
		trail = append(trail, at)
		at = parent
	}
	loop := onTrail[at] || r.loops[at]
	for _, t := range trail {
		if loop {
			r.loops[t] = true
		} else {
			r.found[t] = at
		}
	}
	return at, !loop
}
