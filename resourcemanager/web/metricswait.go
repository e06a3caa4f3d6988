package web

import (
	"context"
	"strings"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// Records that Hadoop does not have.
const (
	waitMetrics     = "WaitMetrics"
	userWaitMetrics = "UserWaitMetrics"
)

// waitBeans are how long applications have waited: one bean for each queue, or user of a queue, and cause. How many there may be is bounded by
// engine.MaxWaitQueues and engine.MaxWaitUsers.
func waitBeans(ctx context.Context, s access.Source) (out []introspect.Bean) {
	list, err := s.Waits(ctx)
	if err != nil {
		return nil
	}
	for i := range list {
		out = append(out, waitBean(&list[i]))
	}
	return out
}

func waitBean(w *view.Wait) introspect.Bean {
	record, key := waitMetrics, ",queue="+quoted(w.Queue)
	tags := []introspect.Attribute{{Name: "tag.Queue", Value: w.Queue}, {Name: "tag.Cause", Value: string(w.Cause)}}
	if w.User != "" {
		record, key = userWaitMetrics, key+",user="+quoted(w.User)
		tags = append(tags, introspect.Attribute{Name: "tag.User", Value: w.User})
	}
	b := introspect.Metrics(service, record, "yarn", introspect.Counter("WaitedMillis", w.Millis, "time that applications have waited for that cause, ms"))
	b.Name += key + ",cause=" + string(w.Cause)
	b.Attributes = append(tags, b.Attributes...)
	return b
}

// quoted is a value in a bean's name; those with characters that mean something there are quoted.
func quoted(s string) string {
	if !strings.ContainsAny(s, ",=:\"*?\n") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "*", `\*`, "?", `\?`, "\n", `\n`).Replace(s) + `"`
}
