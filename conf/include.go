package conf

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Limits of xi:include.
const (
	maxIncludeDepth = 8
	maxIncludes     = 100 // files included by one load
)

// includeState follows one xi:include element and its fallback.
type includeState struct {
	href       string
	missing    bool // the file is not there; a fallback must be given
	inFallback bool
}

// startInclude merges another file in place. Hadoop takes class path
// resources, any URL and any path; here only files of the main file's own
// directory are read, because configuration may be writable by others than
// those who own the rest of the machine.
func (p *parser) startInclude(attrs map[string]string, at Origin) error {
	href, ok := attrs["href"]
	if !ok {
		p.load.warn(Problem{Origin: at, Text: "an include without href is ignored"})
		return nil
	}
	p.include = includeState{href: href}
	if attrs["parse"] == "text" {
		return p.fail(at, "include of %q: parse=\"text\" is not supported", href)
	}
	if strings.Contains(href, ":") || !filepath.IsLocal(href) || filepath.Clean(href) != filepath.Base(href) {
		return p.fail(at, "include of %q: only a file in the same directory can be included, give its bare name", href)
	}
	items, err := p.load.included(p.file, href)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.include.missing = true
	case isProblem(err):
		return err
	case err != nil:
		return p.fail(at, "include of %q: %v", href, err)
	}
	p.out = append(p.out, items...)
	return nil
}

func (p *parser) endInclude(at Origin) error {
	s := p.include
	p.include = includeState{}
	if s.missing && !s.inFallback {
		return p.fail(at, "include of %q: the file does not exist and there is no <xi:fallback>", s.href)
	}
	return nil
}

func isProblem(err error) bool {
	var p Problem
	return errors.As(err, &p)
}
