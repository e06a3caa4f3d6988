package rest

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// filter is which applications a caller wants; all conditions must hold.
type filter struct {
	states           []yarn.PublicState
	final            *yarn.FinalStatus
	user, name       string
	queue            string // full path
	types, tags      []string
	started, ended   span
	limit            int // 0 is no limit
	without          map[string]bool
	userSet, nameSet bool

	// wrong is what is wrong with finalStatus or deSelects.
	// compat: it is told only if an application is found.
	wrong error
}

// span is a closed interval of times in milliseconds.
type span struct{ begin, end int64 }

func (s span) has(t int64) bool { return s.begin <= t && t <= s.end }

// maxWords bounds how many values one parameter may list.
const maxWords = 1000

// tooMany refuses a request whose parameter lists more than maxWords values: each is compared with every application.
func tooMany(q url.Values) error {
	for name, params := range q {
		if n := strings.Count(strings.Join(params, ","), ","); n >= maxWords {
			return badRequest("%s lists more than %d values", name, maxWords)
		}
	}
	return nil
}

// words splits parameters at commas and drops blank words.
func words(params []string) []string {
	var out []string
	for _, p := range params {
		for _, w := range strings.Split(p, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// pieces splits parameters at commas as Java does: those at the end that are empty do not count.
func pieces(params []string) (out []string) {
	for _, p := range params {
		if p == "" {
			out = append(out, "")
		} else if p = strings.TrimRight(p, ","); p != "" {
			out = append(out, strings.Split(p, ",")...)
		}
	}
	return out
}

// parseFilter reads the parameters of /apps. The texts of errors are Hadoop's. find
// returns the path of the queue with a path or short name.
func parseFilter(q url.Values, find func(string) (string, bool, error)) (f filter, err error) {
	if err := tooMany(q); err != nil {
		return f, err
	}
	f.user, f.userSet = q.Get("user"), q.Get("user") != ""
	f.name, f.nameSet = q.Get("name"), q.Has("name")
	f.types, f.tags = lower(words(q["applicationTypes"])), lower(words(q["applicationTags"]))
	if f.states, err = publicStates(append(words(q["state"]), words(q["states"])...)); err != nil {
		return f, err
	}
	if f.queue, err = queuePath(q.Get("queue"), find); err != nil {
		return f, err
	}
	if f.limit, err = limitOf(q.Get("limit")); err != nil {
		return f, err
	}
	if f.started, err = spanOf(q, "startedTime", "startedTimeBegin", "startedTimeEnd", "startTimeBegin"); err != nil {
		return f, err
	}
	if f.ended, err = spanOf(q, "finishedTime", "finishTimeBegin", "finishTimeEnd", "finishTimeBegin"); err != nil {
		return f, err
	}
	f.without, f.wrong = deselected(q["deSelects"])
	if f.final, err = finalStatus(q.Get("finalStatus")); err != nil {
		f.wrong = err
	}
	return f, nil
}

func lower(in []string) []string {
	for i := range in {
		in[i] = strings.ToLower(in[i])
	}
	return in
}

func publicStates(names []string) ([]yarn.PublicState, error) {
	var out []yarn.PublicState
	for _, name := range names {
		state, ok := yarn.ParsePublicState(strings.ToUpper(name))
		if !ok {
			return nil, badRequest("Invalid application-state %s specified. It should be one of [%s]", name, stateNames())
		}
		out = append(out, state)
	}
	return out, nil
}

func stateNames() string {
	var names []string
	for _, s := range yarn.PublicStates() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

func finalStatus(name string) (*yarn.FinalStatus, error) {
	if name == "" {
		return nil, nil
	}
	status, ok := yarn.ParseFinalStatus(name)
	if !ok {
		return nil, answer.IllegalArgument("No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.%s", name)
	}
	return &status, nil
}

func queuePath(name string, find func(string) (string, bool, error)) (string, error) {
	if name == "" {
		return "", nil
	}
	path, ok, err := find(name)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", badRequest("Unknown queue: %s", name)
	}
	return path, nil
}

func limitOf(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, badRequest("limit value must be a number!")
	case n <= 0:
		return 0, badRequest("limit value must be greater then 0")
	}
	return int(min(n, 1<<31-1)), nil
}

const endOfTime = 1<<63 - 1

// spanOf reads <prefix>Begin and <prefix>End. begin, end and reversed are the names in
// the texts of errors, which are Hadoop's.
func spanOf(q url.Values, prefix, begin, end, reversed string) (span, error) {
	out := span{0, endOfTime}
	for _, p := range []struct {
		name, said string
		to         *int64
	}{{prefix + "Begin", begin, &out.begin}, {prefix + "End", end, &out.end}} {
		text := q.Get(p.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return out, badRequest("%s value must be a number!", p.name)
		}
		if n < 0 {
			return out, badRequest("%s must be greater than 0", p.said)
		}
		*p.to = n
	}
	if out.begin > out.end {
		return out, badRequest("%s must be greater than %s", end, reversed)
	}
	return out, nil
}

// selectable are the parts of an application that a caller can leave out.
var selectable = []string{"resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression", "resourceInfo"}

// deselected reads deSelects. On an error, too, parts can be added to what it returns.
func deselected(params []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range words(params) {
		i := slices.IndexFunc(selectable, func(s string) bool { return strings.EqualFold(s, name) })
		if i < 0 {
			return out, badRequest("Invalid deSelects string %s specified. It should be one of [%s]", name, strings.Join(selectable, ", "))
		}
		out[selectable[i]] = true
	}
	return out, nil
}

// matches tells whether an application is wanted.
func (f *filter) matches(a *view.Application) bool {
	return (len(f.states) == 0 || slices.Contains(f.states, a.PublicState)) &&
		(f.final == nil || *f.final == a.FinalStatus) &&
		(!f.userSet || f.user == a.User) &&
		(!f.nameSet || f.name == a.Name) &&
		(f.queue == "" || inQueue(a, f.queue)) &&
		(len(f.types) == 0 || slices.Contains(f.types, strings.ToLower(a.Type))) &&
		(len(f.tags) == 0 || slices.ContainsFunc(a.Tags, f.wantsTag)) &&
		f.started.has(a.StartTime) && f.ended.has(a.FinishTime)
}

func (f *filter) wantsTag(tag string) bool { return slices.Contains(f.tags, strings.ToLower(tag)) }

// inQueue tells whether the application is in the queue, or has not ended and is below
// it.
func inQueue(a *view.Application, path string) bool {
	return a.Queue == path || !a.State.Final() && strings.HasPrefix(a.Queue, path+".")
}

// choose applies the filter. newest has the newest first, so that a limit takes the newest. Hadoop has the order of a hash table.
func (f *filter) choose(newest iter.Seq[*view.Application], visible func(*view.Application) bool) []yarn.ApplicationID {
	var chosen []yarn.ApplicationID
	for a := range newest {
		if !f.matches(a) || !visible(a) {
			continue
		}
		if chosen = append(chosen, a.ID); len(chosen) == f.limit {
			break
		}
	}
	return chosen
}
