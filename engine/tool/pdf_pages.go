package tool

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// pdfConfig are the library's own settings, without a look into its folder in
// the home of whoever runs us.
func pdfConfig() *model.Configuration {
	noFolder()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	conf.Offline = true
	return conf
}

var noFolder = sync.OnceFunc(api.DisableConfigDir)

func countPages(data []byte) (n int, err error) {
	// The parser is not ours and the file is anybody's.
	defer catch(&err)
	ctx, err := api.ReadAndValidate(bytes.NewReader(data), pdfConfig())
	if errors.Is(err, pdfcpu.ErrWrongPassword) {
		return 0, errLocked
	}
	if err != nil {
		return 0, err
	}
	if ctx.Encrypt != nil {
		return 0, errLocked // it opens without a password, but not for everybody
	}
	if err := ctx.EnsurePageCount(); err != nil {
		return 0, err
	}
	if ctx.PageCount < 1 {
		return 0, errors.New("it has no pages")
	}
	return ctx.PageCount, nil
}

// takePages makes a PDF of the pages first to last.
func takePages(data []byte, first, last int) (part []byte, err error) {
	defer catch(&err)
	var out bytes.Buffer
	err = api.Trim(bytes.NewReader(data), &out, []string{fmt.Sprintf("%d-%d", first, last)}, pdfConfig())
	return out.Bytes(), err
}

func catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("its parser gave up: %v", r)
	}
}
