package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strconv"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
)

// Below /scheduler-conf, and not in Hadoop: the history of the queues' configuration. docs/queue-changes.md has the fields.

func (s *server) queueHistory(r *http.Request) (*answer.Response, error) {
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		h, err := conf.History(ctx, c)
		if err != nil {
			return nil, err
		}
		var versions, refused tree.List
		for _, v := range h.Versions {
			versions = append(versions, tree.New().Add("version", v.Number).Add("user", v.User).Add("time", v.At).Add("source", v.Source).
				AddIf(v.Reason != "", "reason", v.Reason).AddIf(len(v.Changes) > 0, "change", differences(v.Changes)))
		}
		for _, a := range h.Refused {
			refused = append(refused, tree.New().Add("user", a.User).Add("time", a.At).Add("why", a.Why))
		}
		o := tree.New().Add("version", h.Version).Add("mutable", h.Mutable)
		if t := h.Trial; t != nil {
			o.Add("trial", tree.New().Add("version", t.Version).Add("before", t.Before).Add("user", t.User).Add("deadline", t.Deadline))
		}
		o.AddIf(len(h.Drift) > 0, "drift", differences(h.Drift)).AddIf(h.Lost != "", "driftUnknown", h.Lost).
			AddIf(len(versions) > 0, "accepted", versions).AddIf(len(refused) > 0, "refused", refused)
		return answer.Wrapped("schedulerConfHistory", o), nil
	})
}

func differences(list []access.Difference) (out tree.List) {
	for _, d := range list {
		o := tree.New().Add("name", d.Name)
		if d.From != nil {
			o.Add("from", *d.From)
		}
		if d.To != nil {
			o.Add("to", *d.To)
		}
		out = append(out, o)
	}
	return out
}

func (s *server) queueDiff(r *http.Request) (*answer.Response, error) {
	from, to := r.URL.Query().Get("from"), r.URL.Query().Get("to")
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		list, err := conf.Diff(ctx, c, from, to)
		return answer.Wrapped("schedulerConfDiff", tree.New().Add("from", from).Add("to", to).AddIf(len(list) > 0, "change", differences(list))), err
	})
}

// propertiesBody is a whole configuration, as GET /scheduler-conf answers it.
type propertiesBody struct {
	XMLName    xml.Name `xml:"configuration" json:"-"`
	Properties oneOrMany[struct {
		Name  scalar `xml:"name" json:"name"`
		Value scalar `xml:"value" json:"value"`
	}] `xml:"property" json:"property"`
}

// propertiesOf reads a whole configuration.
func propertiesOf(r *http.Request) (out []config.Setting, err error) {
	isXML, text, err := content(r)
	if err != nil {
		return nil, err
	}
	body := &propertiesBody{}
	text = bytes.TrimSpace(text)
	if isXML {
		if err := readXML(text, body); err != nil {
			return nil, err
		}
	} else if !bytes.HasPrefix(text, []byte("{")) || !shallow(text) || json.Unmarshal(text, body) != nil {
		return nil, unreadable()
	}
	if len(body.Properties) == 0 {
		return nil, badRequest("the body names no properties: it must be a whole configuration, as GET /scheduler-conf answers one")
	}
	for _, p := range body.Properties {
		out = append(out, config.Setting{Key: string(p.Name), Value: string(p.Value)})
	}
	return out, nil
}

// madeVersion is the answer to a change.
func madeVersion(n int64, err error) (*answer.Response, error) {
	return answer.Wrapped("configversion", tree.New().Add("versionID", n)), err
}

func (s *server) applyQueueConf(r *http.Request) (*answer.Response, error) {
	values, err := propertiesOf(r)
	if err != nil {
		return nil, err
	}
	how, err := changeOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		return madeVersion(conf.Apply(ctx, c, values, how))
	})
}

func (s *server) planQueueConf(r *http.Request) (*answer.Response, error) {
	values, err := propertiesOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		p, err := conf.Plan(ctx, c, values)
		if err != nil {
			return nil, err
		}
		o, err := s.planObject(ctx, &p)
		if err != nil {
			return nil, err
		}
		return answer.Wrapped("schedulerConfPlan", o), nil
	})
}

// planObject is what a configuration would change.
func (s *server) planObject(ctx context.Context, p *access.Plan) (*tree.Object, error) {
	all, err := s.Source.Cluster(ctx, 0)
	if err != nil {
		return nil, err
	}
	var queues, findings tree.List
	for _, q := range p.Queues {
		o := tree.New().Add("queuePath", q.Path).Add("partition", q.Label).Add("used", all.ResourceTypes.Format(q.Used))
		for _, x := range []struct {
			name  string
			share *access.PlannedShare
		}{{"before", q.Before}, {"after", q.After}} {
			if x.share != nil {
				o.Add(x.name, tree.New().Add("state", x.share.State).Add("capacity", x.share.Capacity).Add("maxCapacity", x.share.MaxCapacity).
					Add("effectiveMin", all.ResourceTypes.Format(x.share.Min)).Add("effectiveMax", all.ResourceTypes.Format(x.share.Max)))
			}
		}
		queues = append(queues, o)
	}
	for _, f := range p.Findings {
		var apps tree.List
		for _, id := range f.Applications {
			apps = append(apps, id.String())
		}
		findings = append(findings, tree.New().Add("kind", f.Kind).Add("queuePath", f.Queue).Add("partition", f.Label).Add("text", f.Text).AddIf(len(apps) > 0, "application", apps))
	}
	return tree.New().Add("version", p.Version).Add("accepted", p.Refusal == "").AddIf(p.Refusal != "", "refusal", p.Refusal).
		AddIf(len(p.Changes) > 0, "change", differences(p.Changes)).AddIf(len(queues) > 0, "queue", queues).AddIf(len(findings) > 0, "finding", findings), nil
}

func (s *server) rollbackQueueConf(r *http.Request) (*answer.Response, error) {
	how, err := changeOf(r)
	if err != nil {
		return nil, err
	}
	version, err := strconv.ParseInt(r.URL.Query().Get("version"), 10, 64)
	if err != nil || version < 1 {
		return nil, badRequest("version is %q: name the version that is to be in force again", r.URL.Query().Get("version"))
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		return madeVersion(conf.Rollback(ctx, c, version, how))
	})
}

func (s *server) confirmQueueConf(r *http.Request) (*answer.Response, error) {
	how, err := changeOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		return madeVersion(conf.Confirm(ctx, c, how))
	})
}
