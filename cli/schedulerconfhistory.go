package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
)

// What the web service tells of the history; times are milliseconds since 1970.
type (
	confChange struct {
		Name     string  `json:"name"`
		From, To *string // nil: not set
	}
	confVersion struct {
		Version int64        `json:"version"`
		User    string       `json:"user"`
		Time    int64        `json:"time"`
		Source  string       `json:"source"`
		Reason  string       `json:"reason"`
		Changes []confChange `json:"change"`
	}
	confRefused struct {
		User string `json:"user"`
		Time int64  `json:"time"`
		Why  string `json:"why"`
	}
	confTrial struct {
		Version  int64  `json:"version"`
		Before   int64  `json:"before"`
		User     string `json:"user"`
		Deadline int64  `json:"deadline"`
	}
	confHistoryAnswer struct {
		Version      int64         `json:"version"`
		Mutable      bool          `json:"mutable"`
		Trial        *confTrial    `json:"trial"`
		Drift        []confChange  `json:"drift"`
		DriftUnknown string        `json:"driftUnknown"`
		Accepted     []confVersion `json:"accepted"`
		Refused      []confRefused `json:"refused"`
	}
)

// ours makes a call that Hadoop's ResourceManager does not know, and decodes the answer.
func (c *call) ours(method, path string, query url.Values, body, into any) error {
	status, text, err := c.askConf(method, path, query, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		var refused struct {
			RemoteException struct {
				Message string `json:"message"`
			} `json:"RemoteException"`
		}
		if json.Unmarshal([]byte(text), &refused) == nil && refused.RemoteException.Message != "" {
			text = refused.RemoteException.Message
		}
		if status == http.StatusNotFound && strings.Contains(text, "Not Found") {
			text = "the ResourceManager has no history of its queues: it is none of Heddle, or an older one"
		}
		return fmt.Errorf("refused: %s", line(text))
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the answer is not understood: %.200q", text)
	}
	return nil
}

func confHistory(c *call) error {
	var answer struct {
		History confHistoryAnswer `json:"schedulerConfHistory"`
	}
	if err := c.ours(http.MethodGet, "/history", nil, nil, &answer); err != nil {
		return err
	}
	h := &answer.History
	if c.json {
		return c.writeAnswer(h)
	}
	where := "the queue file says what the queues are"
	if h.Mutable {
		where = "the store says what the queues are"
	}
	fmt.Fprintf(c.Stdout, "Version %d is in force; %s\n", h.Version, where)
	if t := h.Trial; t != nil {
		fmt.Fprintf(c.Stdout, "Version %d by %s is taken back at %s unless it is confirmed: yarn schedulerconf -confirm\n", t.Version, line(t.User), c.isoTime(t.Deadline))
	}
	for i := len(h.Accepted) - 1; i >= 0; i-- {
		v := h.Accepted[i]
		fmt.Fprintf(c.Stdout, "%6d  %s  %-12s %-8s %4d properties  %s\n", v.Version, c.isoTime(v.Time), line(v.User), line(v.Source), len(v.Changes), line(v.Reason))
	}
	switch {
	case h.DriftUnknown != "":
		fmt.Fprintf(c.Stdout, "The queue file cannot be compared: %s\n", line(h.DriftUnknown))
	case len(h.Drift) > 0:
		fmt.Fprintf(c.Stdout, "The queue file differs from what is in force:\n")
		c.showChanges(h.Drift)
	}
	return nil
}

// showChanges prints changes as lines that begin with a sign.
func (c *call) showChanges(list []confChange) {
	for _, d := range list {
		if d.From != nil {
			fmt.Fprintf(c.Stdout, "- %s=%s\n", line(d.Name), line(*d.From))
		}
		if d.To != nil {
			fmt.Fprintf(c.Stdout, "+ %s=%s\n", line(d.Name), line(*d.To))
		}
	}
}

// confDiffers is the exit code of -diff if there is a difference, as diff has it.
const confDiffers Exit = 1

func confDiff(c *call) error {
	from, to, found := strings.Cut(c.opts.first("diff"), "..")
	if !found || from == "" {
		fmt.Fprintf(c.Stderr, "-diff %s: expected two versions, such as 3..5, file..in-force or 3..in-force\n", c.opts.first("diff"))
		return lintUsage
	}
	if to == "" {
		to = "in-force"
	}
	var answer struct {
		Diff struct {
			Changes []confChange `json:"change"`
		} `json:"schedulerConfDiff"`
	}
	if err := c.ours(http.MethodGet, "/diff", url.Values{"from": {from}, "to": {to}}, nil, &answer); err != nil {
		fmt.Fprintf(c.Stderr, "yarn schedulerconf: %v\n", err)
		return lintUsage
	}
	if c.json {
		if err := c.writeAnswer(answer.Diff); err != nil {
			return err
		}
	} else {
		c.showChanges(answer.Diff.Changes)
	}
	if len(answer.Diff.Changes) > 0 {
		return confDiffers
	}
	return nil
}

// made is the answer to a change.
type made struct {
	Configversion struct {
		VersionID int64 `json:"versionID"`
	} `json:"configversion"`
}

func confRollback(c *call) error {
	var answer made
	if err := c.ours(http.MethodPut, "/rollback", url.Values{"version": {c.opts.first("rollback")}}, nil, &answer); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Version %s is in force again, as version %d.\n", line(c.opts.first("rollback")), answer.Configversion.VersionID)
	c.remind()
	return nil
}

// remind says that a change has to be confirmed.
func (c *call) remind() {
	if within := c.opts.first("confirm-within"); within != "" {
		fmt.Fprintf(c.Stdout, "It is taken back in %s, at about %s, unless you confirm it: yarn schedulerconf -confirm\n", line(within), c.isoTime(time.Now().Add(mustDuration(within)).UnixMilli()))
	}
}

// mustDuration is a time that was parsed before.
func mustDuration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // askConf has refused what does not parse
	return d
}

// confFile reads a capacity-scheduler.xml, with its values as they are written.
func confFile(name string) (any, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	p, err := conf.Load(conf.Options{Files: []string{path}, NoDefaults: true})
	if err != nil {
		return nil, err
	}
	list := []map[string]string{}
	for _, v := range p.All() {
		list = append(list, map[string]string{"name": v.Name, "value": v.Raw})
	}
	return map[string]any{"property": list}, nil
}

func confApply(c *call) error {
	body, err := confFile(c.opts.first("apply"))
	if err != nil {
		return err
	}
	var answer made
	if err := c.ours(http.MethodPut, "/apply", nil, body, &answer); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "The configuration in %s is in force, as version %d.\n", line(c.opts.first("apply")), answer.Configversion.VersionID)
	c.remind()
	return nil
}

func confConfirm(c *call) error {
	var answer made
	if err := c.ours(http.MethodPut, "/confirm", nil, nil, &answer); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Version %d stays.\n", answer.Configversion.VersionID)
	return nil
}
