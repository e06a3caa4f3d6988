package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

const clusterPath = "/ws/v1/cluster/"

// mostPreemptions is how many events a ResourceManager remembers.
const mostPreemptions = 10_000

// preemption is an event in the answer of the web service; docs/rest.md has the fields.
type preemption struct {
	Time       int64  `json:"time"`
	Event      string `json:"event"`
	Container  string `json:"containerId"`
	App        string `json:"appId"`
	Queue      string `json:"queue"`
	Memory     int64  `json:"memoryMB"`
	VCores     int64  `json:"vCores"`
	Master     bool   `json:"master"`
	Age        int64  `json:"ageMillis"`
	Rule       string `json:"rule"`
	ForQueue   string `json:"forQueue"`
	ForApp     string `json:"forAppId"`
	LostMemory int64  `json:"lostMemorySeconds"`
	LostVCores int64  `json:"lostVcoreSeconds"`
}

// queuePreemption is yarn queue -preemption.
func queuePreemption(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	var answer struct {
		Preemptions struct {
			Preemption []preemption `json:"preemption"`
		} `json:"preemptions"`
	}
	ask := webCall{method: http.MethodGet, path: clusterPath + "preemptions", what: "preemptions", patience: queuePatience, query: url.Values{}}
	ask.query.Set("limit", strconv.Itoa(mostPreemptions))
	about := ""
	if name := c.opts.first("preemption"); name != "" {
		ask.query.Set("queue", name)
		about = " for or from queue " + visible.Line(name)
	}
	if _, err := c.askWeb(ask, &answer); err != nil {
		return err
	}
	list := answer.Preemptions.Preemption
	if c.json {
		return c.writeDocument("preemptions", document{{"events", items(list, preemptionDocument)}})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "The ResourceManager remembers no preemption"+about+".")
		return nil
	}
	for _, p := range list {
		fmt.Fprintln(c.Stdout, visible.Line(c.isoTime(p.Time)+" "+p.line()))
	}
	return nil
}

// line is the event in one line, without its time.
func (p *preemption) line() string {
	text := fmt.Sprintf("%s %s <memory:%d, vCores:%d> of %s", p.Event, p.Container, p.Memory, p.VCores, p.Queue)
	if p.Master {
		text += " (ApplicationMaster)"
	}
	switch {
	case p.ForApp != "":
		text += " for " + p.ForApp + " in " + p.ForQueue
	case p.ForQueue != "":
		text += " for " + p.ForQueue
	}
	text += fmt.Sprintf("; rule %s, age %s", p.Rule, time.Duration(p.Age)*time.Millisecond)
	if p.LostMemory|p.LostVCores != 0 {
		text += fmt.Sprintf(", lost %d MB-seconds, %d vcore-seconds", p.LostMemory, p.LostVCores)
	}
	return text
}

func preemptionDocument(p preemption) document {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return document{{"time", p.Time}, {"event", p.Event}, {"containerId", p.Container}, {"appId", p.App}, {"queue", p.Queue}, {"memoryMB", p.Memory},
		{"vCores", p.VCores}, {"master", p.Master}, {"ageMillis", p.Age}, {"rule", p.Rule}, {"forQueue", orNull(p.ForQueue)},
		{"forAppId", orNull(p.ForApp)}, {"lostMemorySeconds", p.LostMemory}, {"lostVcoreSeconds", p.LostVCores}}
}

// applicationWhy is yarn application -why: why an application waits, and what was taken from it or for it.
func applicationWhy(c *call) error {
	var answer struct {
		Why struct {
			ID         string   `json:"id"`
			State      string   `json:"state"`
			Waiting    bool     `json:"waiting"`
			Reason     string   `json:"reason"`
			Preemption []string `json:"preemption"`
			Gates      struct {
				Gate []gate `json:"gate"`
			} `json:"gates"`
		} `json:"why"`
	}
	id := c.opts.first("why")
	ask := webCall{method: http.MethodGet, path: clusterPath + "apps/" + url.PathEscape(id) + "/why", what: "reasons", patience: queuePatience}
	if _, err := c.askWeb(ask, &answer); err != nil {
		return err
	}
	w := answer.Why
	if c.json {
		var reason any
		if w.Waiting {
			reason = w.Reason
		}
		return c.writeDocument("why", document{{"application", w.ID}, {"state", w.State}, {"waiting", w.Waiting}, {"reason", reason},
			{"preemption", append([]string{}, w.Preemption...)}})
	}
	switch {
	case w.Waiting:
		fmt.Fprintf(c.Stdout, "%s is %s and waits: %s\n", visible.Line(w.ID), visible.Line(w.State), visible.Line(w.Reason))
	default:
		fmt.Fprintf(c.Stdout, "%s is %s; its ApplicationMaster does not wait for a container\n", visible.Line(w.ID), visible.Line(w.State))
	}
	for i := range w.Gates.Gate {
		w.Gates.Gate[i].print(c.Stdout)
	}
	for _, line := range w.Preemption {
		fmt.Fprintln(c.Stdout, visible.Line(line))
	}
	return nil
}

// gate is one reason why an application gets nothing now.
type gate struct {
	Text    string `json:"text"`
	Setting string `json:"setting"`
	Origin  string `json:"origin"`
	Change  []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"change"`
	Lacks *struct {
		MemoryMB int64 `json:"memoryMB"`
		VCores   int64 `json:"vCores"`
	} `json:"lacks"`
	Never bool `json:"never"`
}

// print writes the reason, and what would do away with it.
func (g *gate) print(w io.Writer) {
	fmt.Fprintf(w, "- %s\n", visible.Line(g.Text))
	if g.Setting != "" {
		at := ""
		if g.Origin != "" {
			at = " (" + visible.Line(g.Origin) + ")"
		}
		fmt.Fprintf(w, "  set by: %s%s\n", visible.Line(g.Setting), at)
	}
	if g.Never {
		fmt.Fprintln(w, "  as things are it never starts: no node is large enough, whoever else ends")
	}
	for i, x := range g.Change {
		word := "enough would be:"
		if i > 0 {
			word = "together with:"
		}
		fmt.Fprintf(w, "  %s %s = %s\n", word, visible.Line(x.Name), visible.Line(x.Value))
	}
	if g.Lacks != nil && !g.Never {
		word := "enough would be"
		if len(g.Change) > 0 {
			word = "or"
		}
		fmt.Fprintf(w, "  %s that %d MB and %d vcores become free\n", word, max(g.Lacks.MemoryMB, 0), max(g.Lacks.VCores, 0))
	}
}
