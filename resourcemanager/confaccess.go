package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
)

// queueAccess is access.QueueConf: who may do what with the configuration of the queues.
type queueAccess struct{ *term }

// Operations in the audit log.
const (
	changeQueuesOperation = "updateSchedulerConfiguration"
	formatQueuesOperation = "formatSchedulerConfiguration"
)

// notMutable are Apache's refusals where the configuration cannot be changed; %s is the scheduler.
const (
	noValues = "This API only supports to retrieve scheduler configuration from a mutable-conf scheduler, underneath scheduler %s is not an instance of MutableConfScheduler"
	noWrites = "Configuration change only supported by mutable configuration store."
	noCheck  = "Configuration change validation only supported by MutableConfScheduler."
	noNumber = "Configuration Version only supported by MutableConfScheduler."
	noFormat = "Scheduler Configuration format only supported by MutableConfScheduler"
)

var schedulerClasses = map[string]string{"capacity": "CapacityScheduler", "fair": "FairScheduler", "fifo": "FifoScheduler"}

// may fails where there is nothing to change, and, with yarn.acl.enable, unless the caller is an administrator.
func (a *queueAccess) may(c webgate.Caller, unless string) error {
	if a.rights.rules.Load().enabled && !a.rights.IsAdmin(identity(c)) {
		return answer.Errorf(answer.Forbidden, "Only admins can carry out this operation.")
	}
	if !a.queues.mutable {
		if unless == noWrites && a.settings.Allocation.Scheduler != "capacity" {
			unless = "Configuration change only supported by MutableConfScheduler."
		}
		if strings.Contains(unless, "%s") {
			unless = fmt.Sprintf(unless, schedulerClasses[a.settings.Allocation.Scheduler])
		}
		return &access.Refused{Status: http.StatusBadRequest, Text: unless}
	}
	return nil
}

// Values implements access.QueueConf.
func (a *queueAccess) Values(_ context.Context, c webgate.Caller) ([]config.Setting, error) {
	if err := a.may(c, noValues); err != nil {
		return nil, err
	}
	return settingsOf(a.queues.kept.Load().Values), nil
}

// settingsOf are properties by name.
func settingsOf(values map[string]string) []config.Setting {
	out := make([]config.Setting, 0, len(values))
	for name, value := range values {
		out = append(out, config.Setting{Key: name, Value: value})
	}
	slices.SortFunc(out, func(a, b config.Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Version implements access.QueueConf.
func (a *queueAccess) Version(_ context.Context, c webgate.Caller) (int64, error) {
	if err := a.may(c, noNumber); err != nil {
		return 0, err
	}
	return a.queues.kept.Load().Version, nil
}

// Check implements access.QueueConf.
func (a *queueAccess) Check(ctx context.Context, c webgate.Caller, m config.Mutation) ([]config.Setting, error) {
	if err := a.may(c, noCheck); err != nil {
		return nil, err
	}
	now := a.queues.kept.Load()
	updates, err := m.Updates(now.Values)
	if err == nil {
		values := config.Apply(now.Values, updates)
		if _, err = a.checkQueues(ctx, values, now.Version+1); err == nil {
			return settingsOf(values), nil
		}
	}
	return nil, &access.Refused{Status: http.StatusBadRequest, Text: "CapacityScheduler configuration validation failed:java.io.IOException: " + err.Error()}
}

// Change implements access.QueueConf.
func (a *queueAccess) Change(ctx context.Context, c webgate.Caller, m config.Mutation, how access.Change) (err error) {
	if err := a.may(c, noWrites); err != nil {
		return err
	}
	defer func() { a.Audit(identity(c), changeQueuesOperation, err) }()
	if !a.mayMutate(c, &m) {
		return &access.Refused{Status: http.StatusBadRequest, Text: "User is not admin of all modified queues."}
	}
	return refusedAs(a.propose(ctx, proposal{
		who: confstore.Version{User: c.User, Source: confstore.FromAPI, Reason: how.Reason}, expect: how.Expect, confirm: how.Confirm,
		values: func(now map[string]string) (map[string]string, map[string]*string, error) {
			updates, err := m.Updates(now)
			if err != nil {
				return nil, nil, err
			}
			return config.Apply(now, updates), updates, nil
		},
	}))
}

// refusedAs makes the answer of what came of a change.
func refusedAs(err error) error {
	var conflict *confstore.ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*onTrial)):
		return &access.Refused{Status: http.StatusConflict, Text: err.Error()}
	case errors.As(err, &conflict):
		return &access.Refused{Status: http.StatusPreconditionFailed, Text: err.Error()}
	case errors.Is(err, confstore.ErrFenced), errors.Is(err, errUnknown):
		return &access.Refused{Status: http.StatusServiceUnavailable, Text: err.Error()}
	}
	return &access.Refused{Status: http.StatusBadRequest, Text: err.Error()}
}

// mayMutate is the policy that yarn.scheduler.configuration.mutation.acl-policy.class names.
//
// compat: with the policy for administrators of queues those of the cluster may change global properties, and queues only if they
// administer them, too.
func (a *queueAccess) mayMutate(c webgate.Caller, m *config.Mutation) bool {
	who := identity(c)
	if byQueue := a.settings.QueueConf.QueueAdmins; (!byQueue || len(m.Global) > 0) && !a.rights.IsAdmin(who) {
		return false
	} else if !byQueue {
		return true
	}
	for _, path := range m.Queues() {
		if !a.access.mayAdminister(who, strings.TrimSpace(path)) {
			return false
		}
	}
	return true
}

// Format implements access.QueueConf.
func (a *queueAccess) Format(ctx context.Context, c webgate.Caller, how access.Change) (err error) {
	if err := a.may(c, noFormat); err != nil {
		return err
	}
	defer func() { a.Audit(identity(c), formatQueuesOperation, err) }()
	file, err := a.readQueueFile()
	if err != nil {
		return &access.Refused{Status: http.StatusBadRequest, Text: err.Error()}
	}
	return refusedAs(a.propose(ctx, proposal{
		who: confstore.Version{User: c.User, Source: confstore.FromFormat, Reason: how.Reason}, expect: how.Expect, confirm: how.Confirm, forget: true, file: confstore.Digest(file),
		values: func(map[string]string) (map[string]string, map[string]*string, error) { return file, nil, nil },
	}))
}
