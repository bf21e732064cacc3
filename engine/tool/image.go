package tool

// Images are made fit for the model before they enter a transcript: one that the
// provider refuses would be sent again with every later request.

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // decoders register themselves
	"image/jpeg"
	"image/png"
	"os"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

const (
	// imageFileBytes and imagePixels bound the work: a small file can decode to
	// gigabytes.
	imageFileBytes = 64 << 20
	imagePixels    = 64_000_000
)

func isImage(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return true
	}
	return false
}

func (s *Set) readImage(path string, fileSize int64) Result {
	if fileSize > imageFileBytes {
		return ErrorResult(fmt.Sprintf("%s is an image of %s; more than %s is not read: make it smaller first, with Bash", path, size(fileSize), size(imageFileBytes)))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ErrorResult(err.Error())
	}
	content, note, err := s.fitImage(data)
	if err != nil {
		return ErrorResult(fmt.Sprintf("%s cannot be shown as an image: %v", path, err))
	}
	r := Result{Content: []Content{content}}
	if note != "" {
		r = r.note("[" + note + "]")
	}
	return r
}

// fitImage checks that data decodes and returns it as an image within the
// limits, the bytes as they are where they fit. note says what was changed.
func (s *Set) fitImage(data []byte) (c Content, note string, err error) {
	// The decoders are not ours and the bytes are anybody's.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its decoder gave up: %v", r)
		}
	}()
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return c, "", fmt.Errorf("it is broken: %w", err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > imagePixels/config.Height {
		return c, "", fmt.Errorf("it has %d × %d pixels, which is too many: make it smaller first, with Bash", config.Width, config.Height)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return c, "", fmt.Errorf("it is broken: %w", err)
	}
	asIs := format == "png" || format == "jpeg" || format == "gif" || format == "webp"
	if asIs && max(config.Width, config.Height) <= s.lim.ImageSide && base64.StdEncoding.EncodedLen(len(data)) <= s.lim.ImageBytes {
		return Content{MediaType: "image/" + format, Data: data}, "", nil
	}
	c, fitted, err := s.shrink(img, format)
	if err != nil {
		return c, "", err
	}
	return c, fmt.Sprintf("the image has %d × %d pixels; shown with %d × %d", config.Width, config.Height, fitted.X, fitted.Y), nil
}

// shrink encodes the image anew, smaller until it fits.
func (s *Set) shrink(img image.Image, format string) (Content, image.Point, error) {
	for side := s.lim.ImageSide; side >= 16; side = side * 3 / 4 {
		small := scaled(img, side)
		if format != "jpeg" {
			if data, err := encodePNG(small); err == nil && s.fits(data) {
				return Content{MediaType: "image/png", Data: data}, small.Bounds().Size(), nil
			}
		}
		for _, quality := range []int{85, 60} {
			var buf bytes.Buffer
			if err := jpeg.Encode(&buf, small, &jpeg.Options{Quality: quality}); err != nil {
				return Content{}, image.Point{}, err
			}
			if s.fits(buf.Bytes()) {
				return Content{MediaType: "image/jpeg", Data: buf.Bytes()}, small.Bounds().Size(), nil
			}
		}
	}
	return Content{}, image.Point{}, errors.New("it does not get small enough: take a part of it, with Bash")
}

func (s *Set) fits(data []byte) bool {
	return base64.StdEncoding.EncodedLen(len(data)) <= s.lim.ImageBytes
}

func encodePNG(img image.Image) ([]byte, error) {
	var buf bytes.Buffer
	err := png.Encode(&buf, img)
	return buf.Bytes(), err
}

// scaled is img with its longer side at most side pixels; never larger.
func scaled(img image.Image, side int) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if longer := max(w, h); longer > side {
		w, h = max(w*side/longer, 1), max(h*side/longer, 1)
	}
	if w == b.Dx() && h == b.Dy() {
		return img
	}
	small := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), img, b, draw.Src, nil)
	return small
}
