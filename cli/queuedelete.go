package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

const (
	queuesPath    = "/ws/v1/cluster/queues"
	queuePatience = time.Minute
)

// queueLife is a queue in the answer of the web service; docs/rest.md has the fields.
type queueLife struct {
	Path        string `json:"queuePath"`
	Leaf        bool   `json:"leaf"`
	Dynamic     bool   `json:"dynamic"`
	Deletable   *bool  `json:"deletable"` // nil: the scheduler deletes no queues on request
	KeptFor     string `json:"keptFor"`
	KeptBecause string `json:"keptBecause"`
}

// queueKept is yarn queue -kept.
func queueKept(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	var answer struct {
		Queue  *queueLife `json:"queue"`
		Queues struct {
			Queue []queueLife `json:"queue"`
		} `json:"queues"`
	}
	ask := webCall{method: http.MethodGet, path: queuesPath, what: "queues", patience: queuePatience}
	if name := c.opts.first("kept"); name != "" {
		ask.path += "/" + url.PathEscape(name)
	}
	host, err := c.askWeb(ask, &answer)
	if err != nil {
		return err
	}
	queues := answer.Queues.Queue
	if answer.Queue != nil {
		queues = []queueLife{*answer.Queue}
	}
	if len(queues) == 0 || queues[0].Deletable == nil {
		return fmt.Errorf("%s has no FairScheduler: no other one deletes queues on request", host)
	}
	if c.json {
		return c.writeDocument("keptQueues", document{{"queues", items(queues, keptDocument)}})
	}
	for _, q := range queues {
		fmt.Fprintf(c.Stdout, "%s: %s\n", visible.Line(q.Path), visible.Line(q.kept()))
	}
	return nil
}

// kept says why the queue stays.
func (q *queueLife) kept() string {
	if *q.Deletable {
		return "it can be deleted"
	}
	return q.KeptBecause
}

func keptDocument(q queueLife) document {
	var why, code any
	if !*q.Deletable {
		why, code = q.KeptBecause, q.KeptFor
	}
	return document{{"path", q.Path}, {"leaf", q.Leaf}, {"dynamic", q.Dynamic}, {"deletable", *q.Deletable}, {"keptFor", code}, {"keptBecause", why}}
}

// queueDelete is yarn queue -delete.
func queueDelete(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	var answer struct {
		Deleted queueLife `json:"deleted"`
	}
	ask := webCall{method: http.MethodDelete, path: queuesPath + "/" + url.PathEscape(c.opts.first("delete")), what: "deletion of queues", patience: queuePatience}
	if _, err := c.askWeb(ask, &answer); err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("deletedQueue", document{{"path", answer.Deleted.Path}})
	}
	fmt.Fprintf(c.Stdout, "Deleted queue %s\n", visible.Line(answer.Deleted.Path))
	return nil
}
