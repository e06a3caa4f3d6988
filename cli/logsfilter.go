package cli

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/javaregexp"
)

// logsFilter chooses log files by name.
type logsFilter struct {
	words    []string // as Hadoop prints them
	all      bool
	patterns []*regexp.Regexp // in place of words
}

// newLogsFilter reads -log_files and -log_files_pattern; without either all
// files are meant.
func newLogsFilter(names, patterns []string) (logsFilter, error) {
	f := logsFilter{words: append(append([]string{}, names...), patterns...)}
	if len(f.words) == 0 || slices.Contains(names, "ALL") || slices.Contains(names, "*") || slices.Contains(patterns, ".*") {
		return logsFilter{words: []string{"ALL"}, all: true}, nil
	}
	for _, text := range patterns {
		p, err := javaregexp.Parse(text)
		if err != nil {
			return f, fmt.Errorf("-log_files_pattern: %w", err)
		}
		f.patterns = append(f.patterns, p)
	}
	return f, nil
}

func (f logsFilter) wants(name string) bool {
	if f.all || f.patterns == nil {
		return f.all || slices.Contains(f.words, name)
	}
	return slices.ContainsFunc(f.patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

func (f logsFilter) String() string { return list(hashOrder(f.words)) }

// wanted are the names of those files that are wanted, each once. It fails if
// more of them would be printed than is allowed.
func (r *logsRequest) wanted(files []aggregated.File) ([]string, error) {
	var names []string
	for _, f := range files {
		if !r.files.wants(f.Name) {
			continue
		}
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
		_, length := aggregated.Window(f.Size, r.size)
		if r.left -= length; r.limited && r.left < 0 {
			return nil, javaError{"java.lang.RuntimeException", fmt.Sprintf("The total log size is too large.The log size limit is %dMB. "+
				"Please specify a proper value --size option or if you really want to fetch all, please specify -1 for --size_limit_mb option.", r.limitMB)}
		}
	}
	return names, nil
}
