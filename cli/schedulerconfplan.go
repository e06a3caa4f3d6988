package cli

import (
	"fmt"
	"net/http"
	"strings"
)

// The exit codes of -plan, for scripts.
const (
	planRefused Exit = 3 // the configuration would be refused
	planOdd     Exit = 4 // it would be accepted, and there are findings
)

// What the web service tells of a plan.
type (
	planShare struct {
		State       string  `json:"state"`
		Capacity    float32 `json:"capacity"`
		MaxCapacity float32 `json:"maxCapacity"`
		Min         string  `json:"effectiveMin"`
		Max         string  `json:"effectiveMax"`
	}
	plannedQueue struct {
		Path   string     `json:"queuePath"`
		Label  string     `json:"partition"`
		Used   string     `json:"used"`
		Before *planShare `json:"before,omitempty"`
		After  *planShare `json:"after,omitempty"`
	}
	planFinding struct {
		Kind         string   `json:"kind"`
		Path         string   `json:"queuePath"`
		Label        string   `json:"partition"`
		Text         string   `json:"text"`
		Applications []string `json:"application,omitempty"`
	}
	planAnswer struct {
		Version  int64          `json:"version"`
		Accepted bool           `json:"accepted"`
		Refusal  string         `json:"refusal,omitempty"`
		Changes  []confChange   `json:"change,omitempty"`
		Queues   []plannedQueue `json:"queue,omitempty"`
		Findings []planFinding  `json:"finding,omitempty"`
	}
)

func confPlan(c *call) error {
	body, err := confFile(c.opts.first("plan"))
	if err != nil {
		return err
	}
	var answer struct {
		Plan planAnswer `json:"schedulerConfPlan"`
	}
	if err := c.ours(http.MethodPost, "/plan", nil, body, &answer); err != nil {
		return err
	}
	p := &answer.Plan
	if c.json {
		if err := c.writeAnswer(p); err != nil {
			return err
		}
	} else {
		c.showPlan(p)
	}
	switch {
	case !p.Accepted:
		return planRefused
	case len(p.Findings) > 0:
		return planOdd
	}
	return nil
}

func (c *call) showPlan(p *planAnswer) {
	fmt.Fprintf(c.Stdout, "Against version %d, which is in force, %d properties change\n", p.Version, len(p.Changes))
	c.showChanges(p.Changes)
	if !p.Accepted {
		fmt.Fprintf(c.Stdout, "It would be refused: %s\n", line(p.Refusal))
		return
	}
	same := 0
	for _, q := range p.Queues {
		if q.Before != nil && q.After != nil && *q.Before == *q.After {
			same++
			continue
		}
		name := line(q.Path)
		if q.Label != "" {
			name += " in partition " + line(q.Label)
		}
		fmt.Fprintf(c.Stdout, "%s\n  before  %s\n  after   %s\n", name, q.Before.text(), q.After.text())
	}
	fmt.Fprintf(c.Stdout, "%d queues and partitions stay as they are\n", same)
	for _, f := range p.Findings {
		where := line(f.Path)
		if f.Label != "" {
			where += " in partition " + line(f.Label)
		}
		fmt.Fprintf(c.Stdout, "%s: [%s] %s\n", where, line(f.Kind), line(f.Text))
		if len(f.Applications) > 0 {
			fmt.Fprintf(c.Stdout, "  %s\n", line(strings.Join(f.Applications, " ")))
		}
	}
}

func (s *planShare) text() string {
	if s == nil {
		return "not there"
	}
	return fmt.Sprintf("%s  %s to %s percent  %s to %s", line(s.State), decimal(float64(s.Capacity), 1, 0, 2), decimal(float64(s.MaxCapacity), 1, 0, 2), line(s.Min), line(s.Max))
}
