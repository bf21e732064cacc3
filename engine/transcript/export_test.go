package transcript

// Told is h without what only views read of it: what the fields tell.
func (h Header) Told() Header {
	h.tools = nil
	return h
}

// TellsTools reports whether h says where the tool blocks are.
func (h Header) TellsTools() bool { return h.tools != nil }
