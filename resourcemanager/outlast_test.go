package resourcemanager

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// TestOutlastsFailover: delegation tokens, their renewals and cancellations, drains with their deadlines, and changes of the queues that wait to be confirmed outlast a failover
// to another ResourceManager while the first one still runs.
func TestOutlastsFailover(t *testing.T) {
	pair := newPairIn(t, zookeepertest.New(), "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", "zookeeper",
		"hadoop.zk.address", "zk:2181", confStoreClass, "zk", "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	lead := func(w *world) {
		t.Helper()
		if err := w.d.BecomeActive("test"); err != nil {
			t.Fatal(err)
		}
	}
	one, two := pair[0], pair[1]
	lead(one)
	tok := must(one.as("alice"), "getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: proto.String("bob")}, &pb.GetDelegationTokenResponse{}).Token
	renew := func(w *world) (uint64, error) {
		b, err := w.as("bob").raw("renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: tok})
		x := &pb.RenewDelegationTokenResponse{}
		if err == nil {
			err = proto.Unmarshal(b, x)
		}
		return x.GetNewExpiryTime(), err
	}
	until, err := renew(one)
	if err != nil {
		t.Fatal(err)
	}
	n := one.newNode()
	const asOperator = "user.name=" + operator
	_, x := one.drains("POST", asOperator, `{"nodes":"`+n.id.Host+`","deadline":"1h"}`)
	if len(x.Drains.Node) != 1 {
		t.Fatalf("%+v", x)
	}
	before := x.Drains.Node[0]
	values := settingsOf(one.term().queues.kept.Load().Values)
	for i := range values {
		if values[i].Key == capacityPrefix+"root.other.maximum-capacity" {
			values[i].Value = "77"
		}
	}
	version, err := one.conf().Apply(t.Context(), admin1, values, access.Change{Confirm: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	trial := *one.term().queues.kept.Load().Trial

	lead(two)
	if later, err := renew(two); err != nil || later < until {
		t.Errorf("after a failover a token is renewed until %d, before until %d: %v", later, until, err)
	}
	if _, x := two.drains("GET", asOperator, ""); len(x.Drains.Node) != 1 || x.Drains.Node[0].Deadline != before.Deadline || x.Drains.Node[0].RequestedAt != before.RequestedAt {
		t.Errorf("after a failover: %+v, before %+v", x, before)
	}
	if kept := two.term().queues.kept.Load(); kept.Version != version || kept.Trial == nil || *kept.Trial != trial {
		t.Errorf("after a failover version %d waits: %+v; before version %d: %+v", kept.Version, kept.Trial, version, trial)
	}
	if got, err := two.conf().Confirm(t.Context(), admin1, access.Change{}); err != nil || got != version {
		t.Errorf("%d %v", got, err)
	}
	must(two.as("alice"), "cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: tok}, &pb.CancelDelegationTokenResponse{})

	one.again() // the first one may not have noticed yet that it was replaced
	lead(one)
	_, err = renew(one)
	refused(t, err, serve.YarnException, ipc.ClassInvalidToken+": ")
	if kept := one.term().queues.kept.Load(); kept.Version != version || kept.Trial != nil {
		t.Errorf("what was confirmed waits: %+v", kept.Trial)
	}
}

// dyingStore is the store of a process that is killed right after a change was stored.
type dyingStore struct{ confstore.Store }

func (s dyingStore) Commit(ctx context.Context, was int64, next *confstore.State) error {
	return errors.Join(s.Store.Commit(ctx, was, next), errKilled)
}

func (dyingStore) Load(context.Context) (*confstore.State, error) { return nil, errKilled }

// TestTrialsOutlastKills: a change that waits to be confirmed still waits after a kill -9 right after it was stored; a confirmation holds; and a change that nobody confirmed in time
// is not in force when the next ResourceManager starts.
func TestTrialsOutlastKills(t *testing.T) {
	for _, kind := range []string{"leveldb", "fs", "zk"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorldIn(t, zookeepertest.New(), twoQueues, confStoreClass, kind, "yarn.scheduler.configuration.leveldb-store.path", t.TempDir(),
				"yarn.scheduler.configuration.fs.path", "file://"+t.TempDir(), "hadoop.zk.address", "zk:2181")
			killed := func(do func() error) {
				t.Helper()
				was := w.term().queues.store
				w.term().queues.store = dyingStore{was}
				if err := do(); err == nil {
					t.Error("a ResourceManager that was killed has acknowledged the change")
				}
				w.term().queues.store = was
				w.again()
			}
			_, first := w.agree()
			apply := func(most string, within time.Duration) func() error {
				values := settingsOf(first)
				for i := range values {
					if values[i].Key == capacityPrefix+"root.other.maximum-capacity" {
						values[i].Value = most
					}
				}
				return func() error {
					_, err := w.conf().Apply(t.Context(), admin1, values, access.Change{Confirm: within})
					return err
				}
			}
			killed(apply("77", time.Hour))
			n, second := w.agree()
			if trial := w.term().queues.kept.Load().Trial; trial == nil || trial.Version != n || trial.Before != n-1 || maps.Equal(first, second) {
				t.Fatalf("after a kill version %d waits: %+v", n, trial)
			}
			killed(func() error {
				_, err := w.conf().Confirm(t.Context(), admin1, access.Change{})
				return err
			})
			if got, now := w.agree(); got != n || !maps.Equal(now, second) || w.term().queues.kept.Load().Trial != nil {
				t.Errorf("after a kill version %d of %d waits to be confirmed, which it was: %+v", got, n, w.term().queues.kept.Load().Trial)
			}
			killed(apply("78", time.Millisecond))
			if got, now := w.agree(); got != n+2 || !maps.Equal(now, second) || !strings.Contains(w.log.String(), "a change of the queues that nobody has confirmed is taken back") {
				t.Errorf("after a kill version %d is in force, want %d, as version %d: %v", got, n+2, n, now)
			}
		})
	}
}
