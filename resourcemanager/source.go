package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// A term as the web server sees it; the Daemon has the rest of access.Source.

// Cluster implements access.Source.
func (t *term) Cluster(ctx context.Context, parts view.Part) (*view.Cluster, error) {
	v, err := t.loop.Recent(ctx, parts&^view.Containers, access.Age(ctx)) // a view.Cluster has none
	if err != nil {
		return nil, err
	}
	c := &view.Cluster{
		At: clock.System().Now(), StartedAt: t.started,
		ResourceTypes: t.types, MinAllocation: t.access.schedule.Load().Cluster.MinAllocation,
		MaxAllocation:  t.access.schedule.Load().Cluster.MaxAllocation,
		MaxAppPriority: t.maxPriority.Load(), QueueACLs: t.queueACLs,
	}
	if parts&view.Applications != 0 {
		c.Applications = v.Applications()
	}
	if parts&view.Nodes != 0 {
		c.Nodes, c.Labels = v.Nodes(), v.Labels()
	}
	if parts&view.Queues != 0 {
		c.Queues = v.Queues()
	}
	if parts&view.Counts != 0 {
		c.Metrics = v.Metrics()
	}
	return c, nil
}

// queueACLs are the texts of a queue's own lists; of a queue that was created
// while running, those that nobody is on.
func (t *term) queueACLs(path string) (submit, administer string) {
	way := t.access.schedule.Load().Way(path)
	if q := way[len(way)-1]; q.Path == path {
		return q.Submit.String(), q.Admin.String()
	}
	return " ", " "
}

// Application implements access.Source.
func (t *term) Application(ctx context.Context, id yarn.ApplicationID) (*view.Application, error) {
	a, _, err := t.find(ctx, view.Applications, id)
	return a, err
}

// Containers implements access.Source.
func (t *term) Containers(ctx context.Context, id yarn.ApplicationID) (*view.Application, *view.AppContainers, error) {
	a, v, err := t.find(ctx, view.Applications|view.Containers, id)
	if err != nil {
		return nil, nil, err
	}
	return a, v.Containers(id), nil
}

// find is an application in views of those parts.
func (t *term) find(ctx context.Context, parts view.Part, id yarn.ApplicationID) (*view.Application, *loop.Views, error) {
	v, err := t.loop.Recent(ctx, parts, access.Age(ctx))
	if err != nil {
		return nil, nil, err
	}
	a := v.FindApplication(id)
	if a == nil {
		return nil, nil, answer.Errorf(answer.NotFound, "app with id: %s not found", id)
	}
	return a, v, nil
}

// Newest implements access.Source.
func (t *term) Newest(ctx context.Context) (newest iter.Seq[*view.Application], version uint64, err error) {
	v, err := t.loop.Recent(ctx, view.Applications, access.Age(ctx))
	if err != nil {
		return nil, 0, err
	}
	return v.Newest(), v.Version(), nil
}

// Latest implements access.Source.
func (t *term) Latest(id yarn.ApplicationID) *view.Application {
	return t.loop.Latest().FindApplication(id)
}

// Why implements access.Source.
func (t *term) Why(ctx context.Context, id yarn.ApplicationID) (string, error) {
	return t.loop.Why(ctx, id)
}

// Gates implements access.Source.
func (t *term) Gates(ctx context.Context, id yarn.ApplicationID) (view.Gates, error) {
	g, err := t.loop.Gates(ctx, id)
	for i := range g.List {
		t.locate(&g.List[i])
	}
	return g, err
}

// locate adds where the properties that govern a reason are written, or that these are defaults.
func (t *term) locate(g *view.Gate) { g.Origin = written(t.access.schedule.Load(), g.Setting) }

// byDefault stands for the origin of what is written nowhere.
const byDefault = "default"

// written is where the properties in names, separated by spaces or commas, are set. Where one is not set and another decides, for all queues or for all partitions,
// it is where that one is set, and "by" its name. For a queue that was created on demand it is where the queue is configured below which it was created.
// byDefault: none of them is set.
func written(cfg *config.Config, names string) string {
	var at []string
	add := func(text string) {
		if text != "" && !slices.Contains(at, text) {
			at = append(at, text)
		}
	}
	unset := ""
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' }) {
		p, ok := cfg.Governing(name)
		rest, ofQueue := strings.CutPrefix(name, config.Prefix)
		switch {
		case ok && p.Name == name:
			add(withoutLine(p.Origin))
		case ok:
			add(withoutLine(p.Origin) + " by " + p.Name)
		case ofQueue && isConfigured(cfg, rest):
			unset = byDefault
		default:
			add(origin(cfg, name))
		}
	}
	if len(at) == 0 {
		return unset
	}
	return strings.Join(at, ", ")
}

// isConfigured tells whether a property, without its prefix, is of a queue that the configuration names, or of none.
func isConfigured(cfg *config.Config, rest string) bool {
	path, _, _ := strings.Cut(rest, ".accessible-node-labels.")
	if path == rest {
		path = queue.ParentPath(rest)
	}
	if path != queue.Root && !strings.HasPrefix(path, queue.Root+".") {
		return true
	}
	way := cfg.Way(path)
	return len(way) > 0 && way[len(way)-1].Path == path
}

// Rooms implements access.Source.
func (t *term) Rooms(ctx context.Context, leaves []string, user string) ([]view.Room, error) {
	list, err := t.loop.Rooms(ctx, leaves, user)
	for i := range list {
		t.locate(&list[i].Stop)
	}
	return list, err
}

// QueueSettings implements access.Source.
func (t *term) QueueSettings(_ context.Context, path string) (out []config.Property, _ error) {
	cfg := t.access.schedule.Load()
	if cfg.Fair != nil || cfg.Fifo != nil {
		return nil, nil // what governs their queues is no property
	}
	for _, p := range cfg.Properties() {
		rest, ok := strings.CutPrefix(p.Name, config.Prefix)
		if !ok || strings.HasPrefix(rest, queue.Root+".") && !governs(rest, path) {
			continue
		}
		p.Origin = origin(cfg, p.Name)
		out = append(out, p)
	}
	return out, nil
}

// origin is where a property was written; a version of the configuration that is kept in a store has no lines.
func origin(cfg *config.Config, name string) string {
	return withoutLine(cfg.Origin(name))
}

func withoutLine(at string) string { return linesOfVersion.ReplaceAllString(at, "$1") }

// governs tells whether a property, without its prefix, may be one of the queue or of a queue above it.
func governs(rest, path string) bool {
	for ; path != ""; path = queue.ParentPath(path) {
		if name, ok := strings.CutPrefix(rest, path+"."); ok {
			first, _, more := strings.Cut(name, ".")
			return !more || notQueue[first]
		}
	}
	return false
}

// notQueue are the beginnings of properties whose own names have a dot, so that they are not taken for names of queues.
var notQueue = map[string]bool{"accessible-node-labels": true, "intra-queue-preemption": true, "ordering-policy": true, "auto-queue-creation-v2": true,
	"leaf-queue-template": true, "auto-create-child-queue": true, "user-settings": true, "multi-node-sorting": true}

// Waits implements access.Source.
func (t *term) Waits(ctx context.Context) ([]view.Wait, error) { return t.loop.Waits(ctx) }

// Preemptions implements access.Source.
func (t *term) Preemptions(ctx context.Context, queue string, app yarn.ApplicationID, most int) ([]view.Preemption, error) {
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.Preemptions{Ticket: k, Queue: queue, Application: app, Most: most}
	})
	if err != nil {
		return nil, err
	}
	return v.([]view.Preemption), nil
}

// LogNodes implements access.Source.
func (t *term) LogNodes(ctx context.Context, id yarn.ApplicationID) ([]view.NodeLogs, error) {
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.LogNodes{Ticket: k, Application: id} })
	if err != nil {
		return nil, err
	}
	return v.([]view.NodeLogs), nil
}

// holds are the loop's, as the web server tells them.
func (t *term) holds() access.Holds {
	show := func(h loop.Hold) access.Hold {
		return access.Hold{Number: h.Number, What: h.What, Millis: float64(h.Took.Microseconds()) / 1000, At: h.At.UnixMilli()}
	}
	h := t.loop.Holds()
	out := access.Holds{Count: h.Count, Publications: h.Publications, PublishingMillis: h.Publishing.Milliseconds()}
	if h.Count > 0 {
		out.Longest = show(h.Longest)
	}
	for _, x := range h.Last {
		out.Last = append(out.Last, show(x))
	}
	return out
}

// ask applies a command and waits for its answer.
func (t *term) ask(ctx context.Context, command func(engine.Ticket) engine.Command) (any, error) {
	type reply struct {
		value any
		err   error
	}
	got := make(chan reply, 1)
	t.loop.Post(command(t.loop.Expect(func(v any, err error) { got <- reply{v, err} })))
	select {
	case a := <-got:
		return a.value, refusal(a.err)
	case <-ctx.Done():
		return nil, unanswered(ctx)
	}
}

func unanswered(ctx context.Context) error { return fmt.Errorf("no answer in time: %w", ctx.Err()) }

var refusals = map[engine.Kind]answer.Kind{
	engine.UnknownApplication: answer.NotFound, engine.UnknownAttempt: answer.NotFound, engine.UnknownContainer: answer.NotFound, engine.UnknownQueue: answer.NotFound,
	engine.AccessDenied: answer.Forbidden, engine.Failed: answer.WrongState,
	engine.InvalidRequest: answer.Invalid, engine.Arithmetic: answer.Invalid, engine.InvalidLabel: answer.Invalid,
}

func refusal(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.IllegalArgument {
		return answer.IllegalArgument("%s", e.Text)
	}
	if errors.As(err, &e) {
		return answer.Errorf(refusals[e.Kind], "%s", e.Text)
	}
	return err
}

// modifiable fails unless the caller may change the application.
func (t *term) modifiable(ctx context.Context, c webgate.Caller, id yarn.ApplicationID) error {
	a, err := t.Application(ctx, id)
	if err != nil {
		return err
	}
	if !t.access.MayModify(identity(c), a) {
		return answer.Errorf(answer.Forbidden, "User %s cannot perform operation MODIFY_APP on %s", c.User, id)
	}
	return nil
}

// Kill implements access.Controller.
func (t *term) Kill(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, diagnostics string) (_ bool, err error) {
	defer func() { t.auditWeb(c, audit.Kill, id, err) }()
	if err := t.modifiable(ctx, c, id); err != nil {
		return false, err
	}
	why := fmt.Sprintf("Application %s was killed by user %s", id, c.User) // compat: over REST without the address
	if diagnostics != "" {
		why += " with diagnostic message: " + diagnostics
	}
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.Kill{Ticket: k, Application: id, Diagnostics: why} })
	if err != nil {
		return false, err
	}
	return v.(engine.KillReply).Completed, nil
}

// Move implements access.Controller.
func (t *term) Move(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, queue string) (_ string, err error) {
	defer func() { t.auditWeb(c, audit.Move, id, err) }()
	if err := t.modifiable(ctx, c, id); err != nil {
		return "", err
	}
	groups := t.rights.Groups(c.User)
	if _, err := t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.Move{Ticket: k, Application: id, Queue: queue, User: c.User, Groups: groups}
	}); err != nil {
		return "", err
	}
	a, err := t.Application(ctx, id)
	if err != nil {
		return "", err
	}
	return a.Queue, nil
}

// SetPriority implements access.Controller.
func (t *term) SetPriority(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, priority int32) (_ int32, err error) {
	defer func() { t.auditWeb(c, audit.Priority, id, err) }()
	if err := t.modifiable(ctx, c, id); err != nil {
		return 0, err
	}
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.SetPriority{Ticket: k, Application: id, Priority: priority}
	})
	if err != nil {
		return 0, err
	}
	return v.(engine.PriorityReply).Priority, nil
}

// SetLifetime implements access.Controller.
func (t *term) SetLifetime(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, expireAt int64) (_ int64, err error) {
	defer func() { t.auditWeb(c, audit.Timeouts, id, err) }()
	if err := t.modifiable(ctx, c, id); err != nil {
		return 0, err
	}
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.SetLifetime{Ticket: k, Application: id, ExpireAt: expireAt}
	})
	if err != nil {
		return 0, err
	}
	return v.(engine.LifetimeReply).ExpireAt, nil
}

// NewApplication implements access.Controller.
func (t *term) NewApplication(ctx context.Context, _ webgate.Caller) (yarn.ApplicationID, yarn.Resource, error) {
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.NewApplication{Ticket: k} })
	if err != nil {
		return yarn.ApplicationID{}, yarn.Resource{}, err
	}
	r := v.(engine.NewApplicationReply)
	return r.ID, r.Maximum, nil
}

// changeLabels makes a change of labels for an administrator.
func (t *term) changeLabels(ctx context.Context, c webgate.Caller, operation string, command func(engine.Ticket) engine.Command) error {
	who := identity(c)
	err := error(answer.Errorf(answer.Unauthorized, "User %s not authorized for post to .../%s", c.User, operation))
	if t.rights.IsAdmin(who) {
		_, err = t.ask(ctx, command)
	}
	t.Audit(who, strings.TrimSpace(operation), err)
	return err
}

// AddLabels implements access.Controller.
func (t *term) AddLabels(ctx context.Context, c webgate.Caller, labels []view.Label) error {
	cmd := engine.AddLabels{}
	for _, l := range labels {
		cmd.Labels = append(cmd.Labels, scheduler.Label(l))
	}
	return t.changeLabels(ctx, c, "add-node-labels ", func(k engine.Ticket) engine.Command { // compat: the space at the end
		cmd.Ticket = k
		return cmd
	})
}

// RemoveLabels implements access.Controller.
func (t *term) RemoveLabels(ctx context.Context, c webgate.Caller, names []string) error {
	return t.changeLabels(ctx, c, "remove-node-labels ", func(k engine.Ticket) engine.Command { return engine.RemoveLabels{Ticket: k, Names: names} })
}

// ReplaceLabels implements access.Controller.
func (t *term) ReplaceLabels(ctx context.Context, c webgate.Caller, operation string, nodes []view.NodeLabels) error {
	if t.settings.Labels.ByNodes { // compat: another exception than those of all other refusals
		return &answer.Exception{Status: http.StatusNotFound, Class: "java.io.IOException", Message: engine.NotCentralized}
	}
	return t.changeLabels(ctx, c, operation, func(k engine.Ticket) engine.Command { return engine.ReplaceLabels{Ticket: k, Nodes: nodes} })
}

// logSummary writes the line by which operators account for ended applications.
func (t *term) logSummary(id yarn.ApplicationID) {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	a, err := t.loop.Latest().FindApplication(id), error(nil)
	if a == nil || !a.State.Final() { // many end together, and who waits for one waits for all
		a, err = t.Application(ctx, id)
	}
	if err != nil { // it is forgotten already, or the loop is stuck or stopping
		t.Log.Warn("an application has ended without its line in the audit log and in this one", "appId", id, "error", err)
		return
	}
	t.auditEnd(a)
	t.Log.Info("application has ended", "logger", "summary", "appId", id, "name", a.Name, "user", a.User, "queue", a.Queue,
		"state", a.PublicState, "finalStatus", a.FinalStatus, "memorySeconds", a.Usage.ResourceSeconds.MemoryMB(),
		"vcoreSeconds", a.Usage.ResourceSeconds.VCoreCount(), "startTime", a.StartTime, "finishTime", a.FinishTime, "attempts", len(a.Attempts))
}
