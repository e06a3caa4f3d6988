package conf

import (
	_ "embed"
	"strings"
	"sync"
)

// Resource names in the order Hadoop merges them.
const (
	coreDefault = "core-default.xml"
	coreSite    = "core-site.xml"
	yarnDefault = "yarn-default.xml"
	yarnSite    = "yarn-site.xml"
	hdfsSite    = "hdfs-site.xml"
)

//go:embed defaults.tsv
var defaultsTable string

// defaultItems parses the embedded table once. Properties without a default
// are known by name but not set, as in Hadoop.
var defaultItems = sync.OnceValue(func() map[string][]item {
	out := map[string][]item{}
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
	file := ""
	for line := range strings.Lines(defaultsTable) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "[") {
			file = strings.Trim(line, "[]")
			continue
		}
		name, value, _ := strings.Cut(line, "\t")
		out[file] = append(out[file], item{
			name: name, value: unescape.Replace(value), set: value != "", origin: Origin{File: file},
		})
	}
	return out
})

// KnownNames reports every property name the default files mention, set or
// not; the linter suggests corrections from it.
func KnownNames() []string {
	var out []string
	for _, file := range []string{coreDefault, yarnDefault} {
		for _, it := range defaultItems()[file] {
			out = append(out, it.name)
		}
	}
	return out
}
