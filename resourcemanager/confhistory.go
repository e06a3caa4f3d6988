package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
)

// The history of the queues' configuration, which Apache does not have.

// mayLook fails unless there is a history, and, with yarn.acl.enable, unless the caller is an administrator.
func (a *queueAccess) mayLook(c webgate.Caller) error {
	if a.rights.rules.Load().enabled && !a.rights.IsAdmin(identity(c)) {
		return answer.Errorf(answer.Forbidden, "Only admins can carry out this operation.")
	}
	if a.queues.store == nil {
		return &access.Refused{Status: http.StatusBadRequest, Text: "Only the configuration of the CapacityScheduler has a history. The one of the " +
			schedulerClasses[a.settings.Allocation.Scheduler] + " is in its own file."}
	}
	return nil
}

// maySet fails unless the caller may replace the whole configuration.
func (a *queueAccess) maySet(c webgate.Caller) error {
	if err := a.mayLook(c); err != nil {
		return err
	}
	if !a.rights.IsAdmin(identity(c)) {
		return answer.Errorf(answer.Forbidden, "Only administrators (yarn.admin.acl) may replace the configuration of the queues. %s is none.", c.User)
	}
	return nil
}

func differencesOf(changes []confstore.Change) (out []access.Difference) {
	for _, c := range changes {
		out = append(out, access.Difference{Name: c.Name, From: c.Old, To: c.New})
	}
	return out
}

// History implements access.QueueConf.
func (a *queueAccess) History(_ context.Context, c webgate.Caller) (access.History, error) {
	if err := a.mayLook(c); err != nil {
		return access.History{}, err
	}
	kept := a.queues.kept.Load()
	out := access.History{Version: kept.Version, Mutable: a.queues.mutable}
	for _, v := range kept.History {
		out.Versions = append(out.Versions, access.Version{Number: v.Number, User: v.User, Source: v.Source, Reason: v.Reason, At: v.At, Changes: differencesOf(v.Changes)})
	}
	for _, x := range kept.Attempts {
		if x.Refused != "" {
			out.Refused = append(out.Refused, access.Attempt{User: x.User, Why: x.Refused, At: x.At})
		}
	}
	if t := kept.Trial; t != nil {
		out.Trial = &access.Trial{Version: t.Version, Before: t.Before, Deadline: t.Deadline, User: t.User}
	}
	file, err := a.readQueueFile()
	if err != nil {
		out.Lost = err.Error()
	} else {
		out.Drift = differencesOf(confstore.Diff(a.queueValues(kept), file))
	}
	return out, nil
}

// queueValues are the values that the scheduler uses.
func (t *term) queueValues(kept *confstore.State) map[string]string {
	values := maps.Clone(t.queues.extra.Load().values)
	if len(values) == 0 {
		return kept.Values
	}
	maps.Copy(values, kept.Values)
	return values
}

// Diff implements access.QueueConf.
func (a *queueAccess) Diff(_ context.Context, c webgate.Caller, from, to string) ([]access.Difference, error) {
	if err := a.mayLook(c); err != nil {
		return nil, err
	}
	kept := a.queues.kept.Load()
	var values [2]map[string]string
	for i, name := range []string{from, to} {
		var err error
		switch name {
		case access.File:
			values[i], err = a.readQueueFile()
		case access.InForce:
			values[i] = a.queueValues(kept)
		default:
			n, bad := strconv.ParseInt(name, 10, 64)
			if bad != nil {
				return nil, &access.Refused{Status: http.StatusBadRequest, Text: fmt.Sprintf("%q is no version: give a number, %s or %s", name, access.File, access.InForce)}
			}
			values[i], err = kept.At(n)
		}
		if err != nil {
			return nil, &access.Refused{Status: http.StatusNotFound, Text: err.Error()}
		}
	}
	return differencesOf(confstore.Diff(values[0], values[1])), nil
}

// auditSet writes what came of a replacement of the configuration.
func (a *queueAccess) auditSet(c webgate.Caller, operation string, err error) {
	a.auditAdmin(identity(c), audit.Entry{Operation: operation}, err)
}

// valuesOf are properties as they are kept: none is empty, none twice.
func valuesOf(list []config.Setting) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		if _, twice := out[s.Key]; twice {
			return nil, fmt.Errorf("%s is given twice", s.Key)
		}
		if s.Key == "" {
			return nil, errors.New("a property has no name")
		}
		if s.Value != "" {
			out[s.Key] = s.Value
		}
	}
	return out, nil
}

// Apply implements access.QueueConf.
func (a *queueAccess) Apply(ctx context.Context, c webgate.Caller, list []config.Setting, how access.Change) (version int64, err error) {
	defer func() { a.auditSet(c, "applySchedulerConfiguration", err) }()
	if err := a.maySet(c); err != nil {
		return 0, err
	}
	values, err := valuesOf(list)
	if err != nil {
		return 0, &access.Refused{Status: http.StatusBadRequest, Text: err.Error()}
	}
	err = a.propose(ctx, proposal{
		who: confstore.Version{User: c.User, Source: confstore.FromApply, Reason: how.Reason}, expect: how.Expect, confirm: how.Confirm, made: &version,
		values: func(map[string]string) (map[string]string, map[string]*string, error) { return values, nil, nil },
	})
	return version, refusedAs(err)
}

// Rollback implements access.QueueConf.
func (a *queueAccess) Rollback(ctx context.Context, c webgate.Caller, to int64, how access.Change) (version int64, err error) {
	defer func() { a.auditSet(c, "rollbackSchedulerConfiguration", err) }()
	if err := a.maySet(c); err != nil {
		return 0, err
	}
	reason := fmt.Sprintf("back to version %d", to)
	if how.Reason != "" {
		reason += ": " + how.Reason
	}
	err = a.propose(ctx, proposal{
		who: confstore.Version{User: c.User, Source: confstore.FromRollback, Reason: reason}, expect: how.Expect, confirm: how.Confirm, made: &version, ends: true,
		values: func(map[string]string) (map[string]string, map[string]*string, error) {
			values, err := a.queues.kept.Load().At(to)
			return values, nil, err
		},
	})
	return version, refusedAs(err)
}

// errNoTrial tells that there is nothing to confirm.
var errNoTrial = errors.New("no change waits to be confirmed: it was confirmed already, or it was taken back")

// Confirm implements access.QueueConf.
func (a *queueAccess) Confirm(ctx context.Context, c webgate.Caller, how access.Change) (version int64, err error) {
	defer func() { a.auditSet(c, "confirmSchedulerConfiguration", err) }()
	if err := a.maySet(c); err != nil {
		return 0, err
	}
	q := &a.queues
	q.changing.Lock()
	defer q.changing.Unlock()
	now := q.kept.Load()
	switch {
	case q.broken != nil:
		return 0, refusedAs(q.broken)
	case now.Trial == nil:
		return 0, &access.Refused{Status: http.StatusConflict, Text: errNoTrial.Error()}
	case how.Expect != 0 && how.Expect != now.Trial.Version:
		return 0, refusedAs(&confstore.ConflictError{Expected: how.Expect, Found: now.Version})
	}
	next := now.Clone()
	next.Trial = nil
	if err := a.storeQueues(ctx, now, next); err != nil {
		return 0, refusedAs(err)
	}
	q.kept.Store(next)
	a.Log.Info("a change of the queues was confirmed", "version", now.Trial.Version, "user", c.User)
	return now.Trial.Version, nil
}

// onTrial refuses a change while another one waits to be confirmed.
type onTrial struct{ confstore.Trial }

func (e *onTrial) Error() string {
	return fmt.Sprintf("version %d by %s waits to be confirmed until %s, and is taken back else: confirm it, or go back to version %d, before anything else is changed",
		e.Version, e.User, time.UnixMilli(e.Deadline).Format(time.RFC3339), e.Before)
}

// trialRetry is how long a change that could not be taken back is left before it is tried again.
const trialRetry = 10 * time.Second

// tendTrial takes changes back that are not confirmed in time.
func (t *term) tendTrial(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.queues.tried:
		case <-wait.C:
		}
		pause := time.Hour
		if trial := t.queues.kept.Load().Trial; trial != nil {
			if pause = time.Until(time.UnixMilli(trial.Deadline)); pause <= 0 {
				pause = trialRetry
				t.takeBackTrial(ctx, *trial)
			}
		}
		wait.Reset(pause)
	}
}

// takeBackTrial takes one change back, unless it was confirmed meanwhile.
func (t *term) takeBackTrial(ctx context.Context, trial confstore.Trial) {
	err := t.propose(ctx, proposal{
		who: expired(t.User, trial), ends: true,
		values: func(map[string]string) (map[string]string, map[string]*string, error) {
			kept := t.queues.kept.Load()
			if kept.Trial == nil || *kept.Trial != trial {
				return nil, nil, errNoTrial
			}
			values, err := kept.At(trial.Before)
			return values, nil, err
		},
	})
	if err != nil && !errors.Is(err, errNoTrial) && ctx.Err() == nil {
		t.Log.Error("a change of the queues that nobody has confirmed cannot be taken back; it is tried again", "version", trial.Version, "error", err)
	}
}

func expired(user string, trial confstore.Trial) confstore.Version {
	return confstore.Version{User: user, Source: confstore.FromExpiry, Reason: fmt.Sprintf("version %d by %s was not confirmed in time: back to version %d", trial.Version, trial.User, trial.Before)}
}
