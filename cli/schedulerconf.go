package cli

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

const schedulerConfTitle = "yarn schedulerconf"

var schedulerConfOptions = []option{
	{name: "add", long: "addQueues", arg: "queues", values: 1, help: "Add queues with configurations"},
	{name: "remove", long: "removeQueues", arg: "queues", values: 1, help: "Remove queues"},
	{name: "update", long: "updateQueues", arg: "queues", values: 1, help: "Update queue configurations"},
	{name: "global", long: "globalUpdates", arg: "properties", values: 1, help: "Update global scheduler configurations"},
	{name: "getconf", long: "getConf", help: "Get current scheduler configurations"},
	{name: "format", long: "formatConfig", help: "Format Scheduler Configuration and reload from capacity-scheduler.xml"},
	{name: "h", long: "help", help: "Displays help for all commands."},
	// What follows Hadoop does not have.
	{name: "history", help: "Lists the versions of the configuration, who made them, when and why."},
	{name: "diff", arg: "A..B", values: 1, help: "Shows what changes from one version to another; file is the queue file as it is now, in-force what the scheduler uses."},
	{name: "rollback", arg: "version", values: 1, help: "Puts an earlier version in force again."},
	{name: "apply", arg: "file", values: 1, help: "Puts the configuration in a file in force, which is a capacity-scheduler.xml."},
	{name: "plan", arg: "file", values: 1, help: "Shows what -apply of the file would change, and changes nothing. The exit code is 0 if it would be accepted, 1 if it was not asked, 3 if it would be refused, 4 if it would be accepted and something is worth a look."},
	{name: "confirm", help: "Keeps a change that would be taken back."},
	{name: "confirm-within", arg: "time", values: 1, help: "With any change: takes it back unless it is confirmed within this time, such as 10m."},
	{name: "if-version", arg: "version", values: 1, help: "With any change: changes nothing unless this version is in force."},
	{name: "reason", arg: "text", values: 1, help: "With any change: why, for the history."},
}

// confPath is that of the web service.
const confPath = "/ws/v1/cluster/scheduler-conf"

// confPatience bounds the wait for a change, which is checked and stored before it is in force.
const confPatience = 2 * time.Minute

// schedulerConf is yarn schedulerconf. compat: of several things only the first of -format, -getconf and
// changes is done.
func schedulerConf(c *call) error {
	opts, err := parse(schedulerConfOptions, c.args)
	var noValue errMissing
	if errors.As(err, &noValue) {
		fmt.Fprintln(c.Stderr, "Missing argument for options")
		fmt.Fprint(c.Stdout, schedulerConfUsage)
		return failed
	}
	if err != nil {
		return err
	}
	c.opts = opts
	if opts.has("h") {
		fmt.Fprint(c.Stdout, schedulerConfUsage+ownConfUsage)
		return nil
	}
	if err := aloneInConf(opts); err != nil {
		if opts.has("diff") { // whose 1 says that there is a difference
			fmt.Fprintf(c.Stderr, "%s: %v\n", schedulerConfTitle, err)
			return lintUsage
		}
		return err
	}
	switch {
	case opts.has("format"):
		return c.formatConf()
	case opts.has("getconf"):
		return c.printConf()
	}
	for _, x := range ownConfActions {
		if opts.has(x.name) {
			return x.run(c)
		}
	}
	if !slices.ContainsFunc([]string{"add", "remove", "update", "global"}, opts.has) {
		fmt.Fprintln(c.Stderr, "Invalid Command Usage: ")
		fmt.Fprint(c.Stdout, schedulerConfUsage)
		return failed
	}
	body, err := c.mutation()
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return failed
	}
	status, text, err := c.askConf(http.MethodPut, "", nil, body)
	switch {
	case err != nil:
		return err
	case status == http.StatusOK:
		fmt.Fprintln(c.Stdout, "Configuration changed successfully.")
		return nil
	}
	fmt.Fprintf(c.Stderr, "Configuration change unsuccessful: %s\n", text)
	return failed
}

// ownConfActions are those that Hadoop does not have.
var ownConfActions = []struct {
	name string
	run  func(*call) error
}{{"history", confHistory}, {"diff", confDiff}, {"rollback", confRollback}, {"apply", confApply}, {"plan", confPlan}, {"confirm", confConfirm}}

// aloneInConf refuses one of our own actions together with another action or with further words.
func aloneInConf(opts *parsed) error {
	own := ""
	for _, x := range ownConfActions {
		switch {
		case !opts.has(x.name):
		case own != "":
			return fmt.Errorf("-%s and -%s cannot be given together: nothing was done", own, x.name)
		default:
			own = x.name
		}
	}
	if own == "" {
		return nil
	}
	for _, other := range []string{"format", "getconf", "add", "remove", "update", "global"} {
		if opts.has(other) {
			return fmt.Errorf("-%s and -%s cannot be given together: nothing was done", own, other)
		}
	}
	if len(opts.words) > 0 {
		return fmt.Errorf("-%s: unexpected %q: nothing was done", own, opts.words[0])
	}
	return nil
}

// A change as the web service takes it.
type (
	confEntry  struct{ Key, Value string }
	confParams struct {
		Entries []confEntry `json:"entry"`
	}
	confQueue struct {
		Name   string     `json:"queue-name"`
		Params confParams `json:"params"`
	}
	confMutation struct {
		Add    []confQueue  `json:"add-queue,omitempty"`
		Remove []string     `json:"remove-queue,omitempty"`
		Update []confQueue  `json:"update-queue,omitempty"`
		Global []confParams `json:"global-updates,omitempty"`
	}
)

// MarshalJSON implements json.Marshaler.
func (e confEntry) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"key": e.Key, "value": e.Value})
}

// mutation makes the body of a change of the command's words.
func (c *call) mutation() (m confMutation, err error) {
	if m.Add, err = confQueues(c.opts.all("add")); err != nil {
		return m, err
	}
	if m.Update, err = confQueues(c.opts.all("update")); err != nil {
		return m, err
	}
	if given := c.opts.all("remove"); len(given) > 0 {
		m.Remove = splitQueues(given[0])
	}
	if c.opts.has("global") {
		entries, err := confEntries(c.opts.first("global"))
		if err != nil {
			return m, err
		}
		m.Global = []confParams{{entries}}
	}
	return m, nil
}

// splitQueues splits at semicolons; semicolons at the end are ignored.
//
// compat: an empty text is one queue without a name, which the ResourceManager refuses.
func splitQueues(text string) []string {
	if text == "" {
		return []string{""}
	}
	text = strings.TrimRight(text, ";")
	if text == "" {
		return nil
	}
	return strings.Split(text, ";")
}

// confQueues reads "path:key=value,key=value;path:key=value", the value of an option; given is empty if the option was not given.
func confQueues(given []string) (out []confQueue, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	for _, part := range splitQueues(given[0]) {
		path, settings, found := strings.Cut(part, ":")
		q := confQueue{Name: path}
		if found && settings != "" {
			if q.Params.Entries, err = confEntries(settings); err != nil {
				return nil, err
			}
		}
		out = append(out, q)
	}
	return out, nil
}

// errPair is compat: the words of Hadoop's command.
var errPair = errors.New("Specify configuration key value as confKey=confVal.")

var pairs = regexp.MustCompile(`(?:\\,|[^,])*`)

// confEntries reads "key=value,key=value". A comma in a value has a backslash before it; all backslashes are dropped.
func confEntries(text string) (out []confEntry, err error) {
	all := pairs.FindAllString(text, -1)
	for len(all) > 1 && all[len(all)-1] == "" { // compat: commas at the end are ignored, other needless ones are an error
		all = all[:len(all)-1]
	}
	for _, pair := range all {
		key, value, found := strings.Cut(strings.ReplaceAll(pair, `\`, ""), "=")
		if !found || key == "" || strings.Contains(value, "=") {
			return nil, errPair
		}
		out = append(out, confEntry{key, value})
	}
	return out, nil
}

// askConf asks the first ResourceManager that answers. What it cannot answer is an error; what it refuses is a status and a text.
func (c *call) askConf(method, path string, query url.Values, body any) (status int, text string, err error) {
	addresses, err := c.webAddresses()
	if err != nil {
		return 0, "", err
	}
	if query == nil {
		query = url.Values{}
	}
	if reason := c.opts.first("reason"); reason != "" {
		query.Set("reason", reason)
	}
	if c.opts.has("confirm-within") {
		within := c.opts.first("confirm-within")
		d, err := time.ParseDuration(within)
		if err != nil || d < time.Second {
			return 0, "", fmt.Errorf("-confirm-within %q: expected a time such as 90s, 10m or 2h", within)
		}
		query.Set("confirm-within", strconv.FormatInt(int64(d/time.Second), 10))
	}
	if c.opts.has("if-version") && c.opts.first("if-version") == "" {
		return 0, "", errors.New("-if-version has no version")
	}
	ask := webCall{method: method, path: confPath + path, query: query, body: body, match: c.opts.first("if-version")}
	web := &http.Client{Timeout: confPatience, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext, DisableKeepAlives: true}}
	var all []error
	for _, host := range addresses {
		answer, err := c.sendWeb(web, "http://"+host, ask)
		if err != nil {
			all = append(all, fmt.Errorf("the ResourceManager's web service at %s did not answer: %w", host, err))
			continue
		}
		b, err := io.ReadAll(io.LimitReader(answer.Body, maxWebAnswer))
		_ = answer.Body.Close()
		if err != nil {
			return 0, "", fmt.Errorf("the answer of %s: %w", host, err)
		}
		return answer.StatusCode, string(b), nil
	}
	return 0, "", errors.Join(all...)
}

func (c *call) formatConf() error {
	status, text, err := c.askConf(http.MethodGet, "/format", nil, nil)
	switch {
	case err != nil:
		return err
	case status == http.StatusOK:
		fmt.Fprintln(c.Stdout, text)
		return nil
	}
	fmt.Fprintf(c.Stderr, "Failed to format scheduler configuration: %s\n", text)
	return failed
}

// printConf prints the properties as a file of Hadoop's, by name.
func (c *call) printConf() error {
	status, text, err := c.askConf(http.MethodGet, "", nil, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		fmt.Fprintf(c.Stderr, "Failed to get scheduler configuration: %s\n", text)
		return failed
	}
	var conf struct {
		Property []struct{ Name, Value string }
	}
	if err := json.Unmarshal([]byte(text), &conf); err != nil {
		return fmt.Errorf("the answer is no configuration: %.200q", text)
	}
	slices.SortFunc(conf.Property, func(a, b struct{ Name, Value string }) int { return strings.Compare(a.Name, b.Name) })
	fmt.Fprint(c.Stdout, `<?xml version="1.0" encoding="UTF-8"?><configuration>`+"\n")
	for _, p := range conf.Property {
		fmt.Fprintf(c.Stdout, "  <property>\n    <name>%s</name>\n    <value>%s</value>\n  </property>\n", escaped(p.Name), escaped(p.Value))
	}
	fmt.Fprint(c.Stdout, "</configuration>\n\n")
	return nil
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// schedulerConfUsage are Hadoop's lines, which scripts may look for.
const schedulerConfUsage = `yarn schedulerconf [-add "queueAddPath1:confKey1=confVal1,confKey2=confVal2;queueAddPath2:confKey3=confVal3"] [-remove "queueRemovePath1;queueRemovePath2"] [-update "queueUpdatePath1:confKey1=confVal1"] [-global globalConfKey1=globalConfVal1,globalConfKey2=globalConfVal2] [-format] [-getconf]
Example (adding queues): yarn schedulerconf -add "root.a.a1:capacity=100,maximum-capacity=100;root.a.a2:capacity=0,maximum-capacity=0"
Example (adding queues with comma in value): yarn schedulerconf -add "root.default:acl_administer_queue=user1\,user2 group1\,group2,maximum-capacity=100;root.a.a2:capacity=0"
Example (removing queues): yarn schedulerconf -remove "root.a.a1;root.a.a2"
Example (updating queues): yarn schedulerconf -update "root.a.a1:capacity=25,maximum-capacity=25;root.a.a2:capacity=75,maximum-capacity=75"
Example (updating queues with comma in value): yarn schedulerconf -update "root.default:acl_administer_queue=user1\,user2 group1\,group2,maximum-capacity=25;root.a.a2:capacity=75"
Example (global scheduler update): yarn schedulerconf -global yarn.scheduler.capacity.maximum-applications=10000
Example (global scheduler update with comma in value): yarn schedulerconf -global "acl_administer_queue=user1\,user2 group1\,group2"
Example (format scheduler configuration): yarn schedulerconf -format
Example (get scheduler configuration): yarn schedulerconf -getconf
Note: This is an alpha feature, the syntax/options are subject to change, please run at your own risk.
`

const ownConfUsage = `
What Hadoop does not have:
yarn schedulerconf -history | -diff A..B | -rollback VERSION | -plan FILE | -apply FILE | -confirm
With any change: [-reason TEXT] [-if-version VERSION] [-confirm-within 10m]
`

// line is foreign text for a line of output.
func line(s string) string { return visible.Line(s) }
