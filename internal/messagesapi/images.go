package messagesapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif"  // decoders for the sizes of images
	_ "image/jpeg" // the same
	_ "image/png"  // the same
)

// What the API takes of images.
const (
	maxImageBytes = 5 << 20 // of one image's base64 data
	maxImageSide  = 8000    // pixels, in a request of up to manyImages
	maxManySide   = 2000    // pixels, in a request of more
	manyImages    = 20
)

// blob is what a block's inline data weighs.
type blob struct {
	bytes int // of base64; 0 = no inline data
	side  int // the larger side of an image in pixels; 0 = not known
}

// parseSource reads the source of an image or document.
func parseSource(path, kind string, raw json.RawMessage) (blob, error) {
	var source struct{ Type, Data string }
	path = path + "." + kind + ".source"
	if len(raw) == 0 {
		return blob{}, invalid("%s: Field required", path)
	}
	err := eachField(path, raw, func(f field) error {
		switch f.name {
		case "type":
			return text(path+".type", f.value, &source.Type)
		case "data":
			return text(path+".data", f.value, &source.Data)
		}
		return nil
	})
	if err != nil || source.Type != "base64" {
		return blob{}, err
	}
	b := blob{bytes: len(source.Data)}
	if kind != "image" {
		return b, nil
	}
	if len(source.Data) > maxImageBytes {
		return b, invalid("%s.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", path, len(source.Data), maxImageBytes)
	}
	data, err := base64.StdEncoding.DecodeString(source.Data)
	if err != nil {
		return b, invalid("%s.base64.data: Input should be valid base64", path)
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil { // else: a format only the provider reads
		b.side = max(c.Width, c.Height)
	}
	return b, nil
}

// checkImages refuses images with too many pixels; how many are too many depends
// on how many images the whole request has.
func checkImages(r *Request) error {
	var blobs []blob
	var walk func([]Block)
	walk = func(list []Block) {
		for _, b := range list {
			if b.Type == "image" {
				blobs = append(blobs, b.blob)
			}
			walk(b.Content)
		}
	}
	for _, m := range r.Messages {
		walk(m.Content)
	}
	limit, words := maxImageSide, "max allowed size: 8000 pixels"
	if len(blobs) > manyImages {
		limit, words = maxManySide, "max allowed size for many-image requests: 2000 pixels"
	}
	for _, b := range blobs {
		if b.side > limit {
			return &Error{
				Status: 400, Code: "image_dimensions_too_large",
				Message: "At least one of the image dimensions exceed " + words,
			}
		}
	}
	return nil
}
