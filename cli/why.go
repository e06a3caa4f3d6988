package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/heddle-project/heddle/internal/visible"
)

// applicationWhy is yarn application -why: why an application waits, what would help, and what was taken from it or for it.
func applicationWhy(c *call) error {
	var answer struct {
		Why struct {
			ID         string   `json:"id"`
			State      string   `json:"state"`
			Waiting    bool     `json:"waiting"`
			Refused    bool     `json:"refused"`
			Reason     string   `json:"reason"`
			Preemption []string `json:"preemption"`
			Line       *struct {
				Place int    `json:"place"`
				Of    int    `json:"of"`
				For   string `json:"for"`
				Queue string `json:"queue"`
			} `json:"line"`
			Impossible []struct {
				Text string `json:"text"`
			} `json:"impossible"`
			Gates struct {
				Gate []json.RawMessage `json:"gate"`
			} `json:"gates"`
		} `json:"why"`
	}
	id := c.opts.first("why")
	ask := webCall{method: http.MethodGet, path: clusterPath + "apps/" + url.PathEscape(id) + "/why", what: "reasons", patience: queuePatience}
	if _, err := c.askWeb(ask, &answer); err != nil {
		return err
	}
	w := answer.Why
	gates := make([]gate, len(w.Gates.Gate))
	for i, raw := range w.Gates.Gate {
		if err := json.Unmarshal(raw, &gates[i]); err != nil {
			return fmt.Errorf("the ResourceManager's answer why %s waits cannot be read: %w", id, err)
		}
	}
	if c.json {
		var reason any
		if w.Waiting {
			reason = w.Reason
		}
		never := []string{}
		for _, x := range w.Impossible {
			never = append(never, x.Text)
		}
		return c.writeDocument("why", document{{"application", w.ID}, {"state", w.State}, {"waiting", w.Waiting}, {"reason", reason},
			{"preemption", append([]string{}, w.Preemption...)}, {"line", w.Line}, {"impossible", never}, {"gates", append([]json.RawMessage{}, w.Gates.Gate...)}})
	}
	switch {
	case w.Waiting:
		fmt.Fprintf(c.Stdout, "%s is %s and waits: %s\n", visible.Line(w.ID), visible.Line(w.State), visible.Line(w.Reason))
	case w.Refused && len(gates) == 0:
		fmt.Fprintf(c.Stdout, "%s is %s: its queue refused it, and would take it now; submit it again\n", visible.Line(w.ID), visible.Line(w.State))
	case w.Refused:
		fmt.Fprintf(c.Stdout, "%s is %s: its queue refused it, and would refuse it now\n", visible.Line(w.ID), visible.Line(w.State))
	default:
		fmt.Fprintf(c.Stdout, "%s is %s; its ApplicationMaster does not wait for a container\n", visible.Line(w.ID), visible.Line(w.State))
	}
	if l := w.Line; l != nil {
		fmt.Fprintf(c.Stdout, "It is number %d of %d in the queue %s that wait for %s\n", l.Place, l.Of, visible.Line(l.Queue), visible.Line(l.For))
	}
	for _, x := range w.Impossible {
		fmt.Fprintln(c.Stdout, visible.Line(x.Text))
	}
	for i := range gates {
		gates[i].print(c, c.Stdout)
	}
	for _, line := range w.Preemption {
		fmt.Fprintln(c.Stdout, visible.Line(line))
	}
	return nil
}

// webAmount is memory and vcores in an answer.
type webAmount struct {
	MemoryMB int64 `json:"memoryMB"`
	VCores   int64 `json:"vCores"`
}

// gate is one reason why an application gets nothing now.
type gate struct {
	Code    string `json:"code"`
	Text    string `json:"text"`
	Setting string `json:"setting"`
	Origin  string `json:"origin"`
	Change  []struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		Element string `json:"element"`
	} `json:"change"`
	Lacks    *webAmount `json:"lacks"`
	Never    bool       `json:"never"`
	TooLarge bool       `json:"tooLarge"`
	Act      *struct {
		Text    string `json:"text"`
		Command string `json:"command"`
	} `json:"act"`
	Holders []struct {
		App        string `json:"appId"`
		User       string `json:"user"`
		Queue      string `json:"queue"`
		MemoryMB   int64  `json:"memoryMB"`
		VCores     int64  `json:"vCores"`
		Containers int64  `json:"containers"`
	} `json:"holders"`
	Since int64 `json:"since"`
}

// amountOf is an amount without what there is nothing of.
func amountOf(mb, vcores int64) string {
	switch {
	case vcores == 0:
		return fmt.Sprintf("%d MB", mb)
	case mb == 0:
		return fmt.Sprintf("%d vcores", vcores)
	}
	return fmt.Sprintf("%d MB and %d vcores", mb, vcores)
}

// print writes the reason, and what would do away with it.
func (g *gate) print(c *call, w io.Writer) {
	fmt.Fprintf(w, "- %s\n", visible.Line(g.Text))
	if g.Since != 0 {
		fmt.Fprintf(w, "  since: %s\n", c.isoTime(g.Since))
	}
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
	if g.TooLarge {
		fmt.Fprintln(w, "  what is asked for is by itself more than that: it never starts, whoever else ends")
	}
	word := "enough would be"
	for i, x := range g.Change {
		how := word + ":"
		if i > 0 {
			how = "together with:"
		}
		element := ""
		if x.Element != "" {
			element = " of " + visible.Line(x.Element)
		}
		fmt.Fprintf(w, "  %s %s%s = %s\n", how, visible.Line(x.Name), element, visible.Line(x.Value))
	}
	if len(g.Change) > 0 {
		word = "or"
	}
	if g.Lacks != nil && !g.Never && !g.TooLarge {
		fmt.Fprintf(w, "  %s that %s become free\n", word, amountOf(max(g.Lacks.MemoryMB, 0), max(g.Lacks.VCores, 0)))
		word = "or"
	}
	if g.Act != nil {
		fmt.Fprintf(w, "  %s: %s\n", word, visible.Line(g.Act.Text))
		if g.Act.Command != "" {
			fmt.Fprintf(w, "    %s\n", visible.Line(g.Act.Command))
		}
	}
	for i, h := range g.Holders {
		if i == 0 {
			fmt.Fprintln(w, "  held by:")
		}
		fmt.Fprintf(w, "    %s of %s in %s: %d MB, %d vcores in %d containers\n", visible.Line(h.App), visible.Line(h.User), visible.Line(h.Queue), h.MemoryMB, h.VCores, h.Containers)
	}
}
