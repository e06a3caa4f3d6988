package shuffle

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Limits of a request.
const (
	MaxMaps    = 500 // a stock reducer asks for 20 at a time
	maxAttempt = 200 // bytes of a map attempt's name
)

// query is what a reducer asks for: one partition of some maps' outputs.
type query struct {
	job       string
	reduce    int32
	maps      []string // names that are safe as names of directories
	keepAlive bool
}

var (
	errMissing  = errors.New("a request needs the parameters job, reduce and map")
	errRepeated = errors.New("there may be only one job and one reduce")
	errReduce   = errors.New("reduce is not a number of a partition")
	errTooMany  = errors.New("more than " + strconv.Itoa(MaxMaps) + " maps in one request")
)

// parseQuery reads the query of a request's URL. What it refuses is answered
// with status 400. Unknown parameters are skipped.
func parseQuery(raw string) (query, error) {
	var q query
	var jobs, reduces, keeps int
	var reduce, keep string
	for raw != "" {
		var name, value string
		var err error
		if name, value, raw, err = parameter(raw); err != nil {
			return query{}, err
		}
		switch name {
		case "job":
			q.job, jobs = value, jobs+1
		case "reduce":
			reduce, reduces = value, reduces+1
		case "keepAlive":
			keep, keeps = value, keeps+1
		case "map":
			if q.maps, err = appendMaps(q.maps, value); err != nil {
				return query{}, err
			}
		}
	}
	switch {
	case jobs == 0 || reduces == 0 || len(q.maps) == 0:
		return query{}, errMissing
	case jobs > 1 || reduces > 1:
		return query{}, errRepeated
	}
	n, err := strconv.ParseInt(reduce, 10, 32)
	if err != nil || n < 0 {
		return query{}, errReduce
	}
	q.reduce = int32(n)
	q.keepAlive = keeps == 1 && strings.EqualFold(keep, "true")
	return q, nil
}

// parameter reads the first name and value.
//
// compat: a semicolon separates parameters as an ampersand does.
func parameter(raw string) (name, value, rest string, err error) {
	pair := raw
	if i := strings.IndexAny(raw, "&;"); i >= 0 {
		pair, rest = raw[:i], raw[i+1:]
	}
	name, value, _ = strings.Cut(pair, "=")
	if name, err = unescape(name); err != nil {
		return "", "", "", err
	}
	value, err = unescape(value)
	return name, value, rest, err
}

func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// appendMaps reads names separated by commas. Commas at the end separate nothing.
func appendMaps(maps []string, list string) ([]string, error) {
	list = strings.TrimRight(list, ",")
	for more := list != ""; more; {
		var name string
		name, list, more = strings.Cut(list, ",")
		if !isAttempt(name) {
			return nil, errors.New("not the name of a map attempt: " + strconv.QuoteToASCII(name[:min(len(name), maxAttempt)]))
		}
		if len(maps) == MaxMaps {
			return nil, errTooMany
		}
		maps = append(maps, name)
	}
	return maps, nil
}

// isAttempt tells whether a name is one that tasks give to a map's output:
// attempt_, then letters, digits and underscores. It is one step of a path and
// leads nowhere else.
//
// compat: MapReduce's are attempt_<timestamp>_<id>_[mr]_<task>_<attempt>; those of
// Tez, which uses this service as well, have more parts.
func isAttempt(name string) bool {
	rest, ok := strings.CutPrefix(name, "attempt_")
	if !ok || rest == "" || len(name) > maxAttempt {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
