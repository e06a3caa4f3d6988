package cli

import (
	"fmt"
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
