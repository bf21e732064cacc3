//go:build !pdfcpu

package tool

import "errors"

var errNoPDF = errors.New("this build has no parser for PDFs")

func countPages([]byte) (int, error) { return 0, errNoPDF }

func takePages([]byte, int, int) ([]byte, error) { return nil, errNoPDF }
