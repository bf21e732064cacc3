package tool

import "fmt"

func (s *Set) readPDF(path string, fileSize int64, pages string) Result {
	return ErrorResult(fmt.Sprintf("%s is a PDF of %s", path, size(fileSize)))
}
