package tool

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestF085_what_is_public(t *testing.T) {
	for addr, public := range map[string]bool{
		"93.184.215.14": true, "1.1.1.1": true, "172.32.0.1": true, "100.128.0.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.255.255.254": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.0.1": false, "fd00:ec2::254": false, "fc00::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "100.100.100.200": false, "100.64.0.1": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::7f00:1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:0:1::": false,
		"192.0.2.1": false, "198.18.0.1": false, "2001:db8::1": false, "fec0::1": false,
	} {
		if err := checkPublic(netip.MustParseAddr(addr)); (err == nil) != public {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// The first hop may be dialled, the second not: what a name led to before the
// redirect is not trusted after it.
func TestF085_the_address_is_checked_on_every_hop(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer server.Close()
	s := NewSet(Options{Workspace: t.TempDir()})
	defer s.Close()
	dialled := 0
	s.checkAddr = func(addr netip.Addr) error {
		dialled++
		if dialled > 1 {
			return checkPublic(addr)
		}
		return nil
	}
	input, err := json.Marshal(map[string]string{"url": server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := s.webFetch(t.Context(), Call{Input: input})
	if !r.IsError || !strings.Contains(r.Text(), "127.0.0.1 is not an address of the public internet") {
		t.Errorf("result: %s", r.Text())
	}
	if served != 1 || dialled != 2 {
		t.Errorf("served %d, dialled %d; want 1 and 2", served, dialled)
	}
}
