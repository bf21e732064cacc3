package tool

import (
	"fmt"
	"net/netip"
	"slices"
)

// A privateAddrError is an address that WebFetch does not reach.
type privateAddrError struct{ addr netip.Addr }

func (e *privateAddrError) Error() string {
	return fmt.Sprintf("%s is not an address of the public internet", e.addr)
}

// special are networks, beside those that package netip knows, that are not the
// public internet or lead to an address that is hidden in theirs.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers' own, and a cloud's metadata
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),        // IPv4 within IPv6, the old way
	netip.MustParsePrefix("64:ff9b::/96"), // the same, translated
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("fec0::/10"),
}

// checkPublic is nil for an address of the public internet: not loopback,
// private, link-local (where clouds keep their metadata) or of a special use.
func checkPublic(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return &privateAddrError{addr}
	}
	return nil
}
