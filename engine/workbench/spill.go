package workbench

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flowerlua/flower/internal/atomicfile"
)

func writeSpill(dir, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(dir, fmt.Sprintf("%x.txt", sum[:8]))
	if holds(path, text) {
		return path, nil
	}
	// Tool results may hold anything, secrets too: not for other users.
	if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("spill: %w", err)
	}
	return path, nil
}

// holds reports whether the file at path is exactly text.
func holds(path, text string) bool {
	file, info, err := openRegular(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if info.Size() != int64(len(text)) {
		return false
	}
	content, err := readUpTo(file, make([]byte, len(text)+1))
	return err == nil && string(content) == text
}

func ignore(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.Write(path, []byte("*\n"), 0o644)
	default:
		return fmt.Errorf("ignore folder %s: %w", dir, err)
	}
}
