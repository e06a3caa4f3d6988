package introspect

import (
	"bufio"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/visible"
)

// series are the values of one metric of all beans.
type series struct {
	help    string
	counter bool
	samples []string // labels and value
}

// prom tells Hadoop's metrics in the text format of Prometheus, under the names
// that Hadoop's own endpoint gives them.
func (s *server) prom(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain;charset=utf-8")
	all := map[string]*series{buildMetric: buildSeries(release.Own())}
	for _, b := range s.beans(r.Context()) {
		collect(all, b)
	}
	out := bufio.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		kind := "gauge"
		if m.counter {
			kind = "counter"
		}
		_, _ = out.WriteString("# HELP " + name + " " + escapeHelp.Replace(m.help) + "\n# TYPE " + name + " " + kind + "\n")
		for _, sample := range m.samples {
			_, _ = out.WriteString(name + sample + "\n")
		}
	}
	_ = out.Flush()
}

// buildMetric is the one that Hadoop does not have: which program this is, in labels of the number 1.
const buildMetric = "heddle_build_info"

func buildSeries(b release.Build) *series {
	labels := ""
	for _, l := range [][2]string{{"version", release.Version}, {"commit", b.Commit}, {"hadoop", release.Hadoop}, {"goversion", runtime.Version()}} {
		labels += "," + l[0] + `="` + escapeLabel.Replace(l[1]) + `"`
	}
	return &series{help: "the version and the commit of this program, the release of Hadoop that it passes for, and the Go that built it",
		samples: []string{"{" + labels[1:] + "} 1"}}
}

// collect takes the numbers of a bean of Hadoop's.
func collect(all map[string]*series, b Bean) {
	if !strings.HasPrefix(b.Name, "Hadoop:") {
		return
	}
	record := b.Record
	if record == "" {
		record, _, _ = strings.Cut(b.Type, ",")
	}
	labels := labelsOf(b)
	for _, a := range b.Attributes {
		value, ok := number(a.Value)
		if !ok {
			continue
		}
		name := promName(record, a.Name)
		m := all[name]
		if m == nil {
			m = &series{help: a.Help, counter: a.Counter}
			if m.help == "" {
				m.help = a.Name
			}
			all[name] = m
		}
		m.samples = append(m.samples, labels+" "+value)
	}
}

// usersTag is a tag with numbers in it, which would make new series all the time.
const usersTag = "NumOpenConnectionsPerUser"

func labelsOf(b Bean) string {
	var labels []string
	for _, a := range b.Attributes {
		name, tag := strings.CutPrefix(a.Name, "tag.")
		text, ok := a.Value.(string)
		if tag && ok && name != usersTag {
			labels = append(labels, strings.ToLower(delimiters.ReplaceAllString(name, "_"))+`="`+escapeLabel.Replace(visible.Text(text))+`"`)
		}
	}
	return "{" + strings.Join(labels, ",") + "}"
}

// number prints what /prom can hold.
func number(v any) (string, bool) {
	switch v.(type) {
	case int, int32, int64, float32, float64:
		return strings.Trim(string(tree.Append(nil, v)), `"`), true
	}
	return "", false
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	delimiters  = regexp.MustCompile(`[^a-zA-Z0-9]+`)
)

// promName is a name as Hadoop makes it: a break before each capital that follows
// a small letter or is followed by one.
func promName(record, metric string) string {
	s := capital(record) + capital(metric)
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && isUpper(s[i]) && (!isUpper(s[i-1]) && s[i-1] != '_' || i+1 < len(s) && isLower(s[i+1])) {
			b.WriteByte('_')
		}
		b.WriteByte(s[i])
	}
	return delimiters.ReplaceAllString(strings.ToLower(b.String()), "_")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
