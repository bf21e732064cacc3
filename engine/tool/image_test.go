package tool_test

import (
	"bytes"
	"encoding/base64"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/flowerlua/flower/engine/tool"
)

// picture is w × h pixels of noise, which no format makes small.
func picture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(t *testing.T, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readImage(t *testing.T, o tool.Options, data []byte) tool.Result {
	t.Helper()
	s := newSet(t, o)
	return run(t, s, "Read", in{"file_path": put(t, tempDir(t), "image", string(data))})
}

func TestRead_small_images_come_as_they_are(t *testing.T) {
	img := picture(40, 30)
	paletted := image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.Black, color.White})
	for kind, data := range map[string][]byte{
		"image/png":  encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) }),
		"image/jpeg": encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) }),
		"image/gif":  encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, paletted, nil) }),
	} {
		r := readImage(t, tool.Options{}, data)
		if len(r.Content) != 1 || r.Content[0].MediaType != kind || !bytes.Equal(r.Content[0].Data, data) {
			t.Errorf("%s: %d pieces, %s", kind, len(r.Content), r.Text())
		}
	}
	// A format that the model does not take becomes one that it does.
	r := readImage(t, tool.Options{}, encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, img) }))
	if r.IsError || r.Content[0].MediaType != "image/png" {
		t.Errorf("bmp: %+v", r)
	}
}

func TestF013_F014_images_are_made_fit_before_they_are_stored(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  []byte
		side  int
		bytes int
	}{
		{"tall", encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, image.NewGray(image.Rect(0, 0, 1170, 2532)), nil) }), 2000, 5 << 20},
		{"thin", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray(image.Rect(0, 0, 1, 5000))) }), 2000, 5 << 20},
		{"heavy", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(300, 200)) }), 2000, 100_000},
		{"too heavy for its size", encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(400, 300), nil) }), 2000, 20_000},
	} {
		r := readImage(t, tool.Options{Limits: tool.Limits{ImageBytes: c.bytes}}, c.data)
		if r.IsError || len(r.Content) != 2 {
			t.Errorf("%s: %+v", c.name, r.Text())
			continue
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(r.Content[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		if n := base64.StdEncoding.EncodedLen(len(r.Content[0].Data)); max(config.Width, config.Height) > c.side || n > c.bytes || min(config.Width, config.Height) < 1 {
			t.Errorf("%s: %d × %d pixels, %d bytes", c.name, config.Width, config.Height, n)
		}
		wants(t, r.Text(), "pixels; shown with")
	}
}

func TestF013_images_that_would_poison_a_session_are_a_text(t *testing.T) {
	good := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(20, 20)) })
	// A header that promises 100,000 × 100,000 pixels.
	huge := bytes.Clone(good)
	copy(huge[16:24], []byte{0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0})
	sum := crc32.ChecksumIEEE(huge[12:29])
	copy(huge[29:33], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut":    {good[:len(good)/2], "it is broken"},
		"header": {good[:20], "it is broken"},
		"bomb":   {huge, "100000 × 100000 pixels, which is too many"},
		"webp":   {[]byte("RIFF\x10\x00\x00\x00WEBPVP8 \x00\x00\x00\x00"), "it is broken"},
	} {
		r := readImage(t, tool.Options{}, c.data)
		if !r.IsError || len(r.Content) != 1 || r.Content[0].MediaType != "" {
			t.Errorf("%s: %+v", name, r)
		}
		wants(t, r.Text(), c.want)
	}
	s := newSet(t, tool.Options{})
	path := put(t, tempDir(t), "large.png", string(good))
	if err := os.Truncate(path, 65<<20); err != nil {
		t.Fatal(err)
	}
	wants(t, bad(t, s, "Read", in{"file_path": path}), "make it smaller first")
	wants(t, readImage(t, tool.Options{Limits: tool.Limits{ImageBytes: 10}}, good).Text(), "does not get small enough")
}
