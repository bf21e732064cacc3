package transcript_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowerlua/flower/engine/transcript"
)

func headers() map[string]transcript.Header {
	return map[string]transcript.Header{
		"zero": {},
		"full": {
			UUID: "8c6f5b1e-0000-4000-8000-000000000001", Parent: "8c6f5b1e-0000-4000-8000-000000000000",
			Type: "assistant", Subtype: "x", Role: "assistant", MessageID: "msg_1",
			Time:     time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
			Flags:    transcript.Meta | transcript.ErrorResult,
			ToolUses: []string{"toolu_1", "", "toolu_2"}, ToolResults: []string{"toolu_0"}, Size: 1 << 40,
		},
		"before 1970, all flags": {Time: time.Unix(-5, 999_999_999).UTC(), Flags: math.MaxUint16},
		"not utf-8":              {UUID: "\xff\x00", Type: strings.Repeat("ü", 1000)},
	}
}

func TestHeader_survives_its_binary_form(t *testing.T) {
	for name, want := range headers() {
		data, err := want.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := transcript.Header{UUID: "left over", ToolUses: []string{"left over"}}
		if err := got.UnmarshalBinary(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestHeader_keeps_the_instant_of_another_zone(t *testing.T) {
	h := transcript.Header{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 7200))}
	data, _ := h.MarshalBinary()
	var got transcript.Header
	if err := got.UnmarshalBinary(data); err != nil || !got.Time.Equal(h.Time) || got.Time.Location() != time.UTC {
		t.Errorf("got %v, %v", got.Time, err)
	}
}

func TestHeader_decoding_refuses_damage_and_leaves_the_header_alone(t *testing.T) {
	full := headers()["full"]
	data, _ := full.MarshalBinary()
	var damaged [][]byte
	for n := range data {
		damaged = append(damaged, data[:n])
	}
	newer := append([]byte{3}, data[1:]...)
	manyTexts := binary.AppendUvarint([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, math.MaxUint64)
	damaged = append(damaged, newer, append(data[:len(data):len(data)], 0), manyTexts)
	for _, d := range damaged {
		h := full
		if err := h.UnmarshalBinary(d); err == nil {
			t.Errorf("%x was taken for a header", d)
		} else if !reflect.DeepEqual(h, full) {
			t.Errorf("%x changed the header", d)
		}
	}
}

func FuzzHeader_decoding(f *testing.F) {
	for _, h := range headers() {
		data, _ := h.MarshalBinary()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var h, again transcript.Header
		if h.UnmarshalBinary(data) != nil {
			return
		}
		out, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(out); err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("%+v came back as %+v: %v", h, again, err)
		}
	})
}

func TestDecodeHeaders_reads_many_and_stops_at_damage(t *testing.T) {
	entries := session(t, 300)
	var forms []byte
	var ends []int
	for i := range entries {
		form, _ := entries[i].MarshalBinary()
		forms = append(forms, form...)
		ends = append(ends, len(forms))
	}
	got := make([]transcript.Entry, len(entries))
	if n, err := transcript.DecodeHeaders(got, forms, ends); n != len(entries) || err != nil {
		t.Fatal(n, err)
	}
	for i := range entries {
		if !reflect.DeepEqual(got[i].Header, entries[i].Header) {
			t.Fatalf("entry %d: %+v, want %+v", i, got[i].Header, entries[i].Header)
		}
	}
	// Lists that share memory do not grow into each other.
	more := append(got[0].ToolUses, "more")
	if !reflect.DeepEqual(got[2].Header, entries[2].Header) || len(more) == 0 {
		t.Errorf("%+v", got[2].Header)
	}
	forms[ends[6]+1] ^= 0x80
	if n, err := transcript.DecodeHeaders(got, forms, ends); n != 7 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
