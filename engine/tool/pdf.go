package tool

import (
	"errors"
	"fmt"
)

func (s *Set) readPDF(path string, fileSize int64, pages string) Result {
	return ErrorResult(fmt.Sprintf("%s is a PDF of %s", path, size(fileSize)))
}

func (s *Set) fitPDF(data []byte, pages string) (page, error) {
	return page{}, errors.New("it is a PDF")
}
