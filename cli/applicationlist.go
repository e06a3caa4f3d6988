package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// applicationRow is a line of the list. Columns are aligned to the right and not
// cut: scripts split at the tabs.
const applicationRow = "%30s\t%20s\t%20s\t%10s\t%10s\t%18s\t%18s\t%15s\t%35s\n"

// applicationList prints applications in the order received.
func applicationList(c *call) error {
	f, err := c.applicationFilter()
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	apps, err := rm.Applications(c.ctx, f)
	if err != nil {
		return err
	}
	var states []string
	for _, s := range f.States {
		states = append(states, s.String())
	}
	if c.json {
		return c.writeDocument("applications", document{{"types", words(f.Types)}, {"states", words(states)}, {"tags", words(f.Tags)},
			{"applications", items(apps, applicationDocument)}})
	}
	fmt.Fprintf(c.Stdout, "Total number of applications (application-types: %s, states: %s and tags: %s):%d\n",
		list(f.Types), list(states), list(f.Tags), len(apps))
	fmt.Fprintf(c.Stdout, applicationRow, "Application-Id", "Application-Name", "Application-Type", "User", "Queue", "State",
		"Final-State", "Progress", "Tracking-URL")
	for _, a := range apps {
		c.row(applicationRow, a.ID, a.Name, a.Type, a.User, a.Queue, a.State, a.FinalStatus,
			percent(a.Progress), orNull(a.OriginalTrackingURL))
	}
	return nil
}

// applicationFilter reads -appTypes, -appStates and -appTags. Types are sent in
// upper case; ALL among the states ends their reading.
func (c *call) applicationFilter() (client.ApplicationFilter, error) {
	var f client.ApplicationFilter
	for _, t := range notBlank(c.opts.all("appTypes")) {
		f.Types = append(f.Types, strings.ToUpper(t))
	}
	f.Types, f.Tags = hashOrder(f.Types), hashOrder(notBlank(c.opts.all("appTags")))
	for _, word := range c.opts.all("appStates") {
		name := strings.ToUpper(strings.TrimSpace(word))
		if name == "" {
			continue
		}
		if name == "ALL" {
			f.States = yarn.PublicStates()
			break
		}
		s, ok := yarn.ParsePublicState(name)
		if !ok {
			fmt.Fprintf(c.Stdout, "The application state %s is invalid.\n%s\n", word, validAppStates())
			return f, failed
		}
		f.States = append(f.States, s)
	}
	if len(f.States) == 0 {
		f.States = []yarn.PublicState{yarn.PublicSubmitted, yarn.PublicAccepted, yarn.PublicRunning}
	}
	slices.Sort(f.States)
	f.States = slices.Compact(f.States)
	return f, nil
}

// notBlank trims words and drops empty ones.
func notBlank(from []string) []string {
	var out []string
	for _, w := range from {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
