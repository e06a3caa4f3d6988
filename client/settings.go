package client

import (
	"fmt"
	"math"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
)

// settings are what a client takes from the configuration.
type settings struct {
	HA           bool
	User, Admin  []Target // ApplicationClientProtocol, ResourceManagerAdministrationProtocol
	Master       []Target // ApplicationMasterProtocol
	Policy       ipc.Policy
	Connect      conf.Connect
	CallTimeout  time.Duration
	CheckTimeout time.Duration // for state and health, connecting included
	PollInterval time.Duration
	PollTimeout  time.Duration // negative: never
}

// maxResourceManagers bounds yarn.resourcemanager.ha.rm-ids.
const maxResourceManagers = 32

// read is for users and administrators.
func read(p *conf.Properties) (settings, error) {
	r := conf.NewReader(p)
	if a := r.Enum("hadoop.security.authentication", "simple", "simple", "kerberos", "token"); a == "kerberos" {
		r.Fail("hadoop.security.authentication", "a client for Kerberos is not built yet; use simple authentication")
	}
	s := common(r)
	s.User = targets(r, s.HA, "yarn.resourcemanager.address", 8032)
	s.Admin = targets(r, s.HA, "yarn.resourcemanager.admin.address", 8033)
	return s, r.Err()
}

// readMaster is for an ApplicationMaster, which has a token whatever its
// cluster's authentication is.
func readMaster(p *conf.Properties) (settings, error) {
	r := conf.NewReader(p)
	s := common(r)
	s.Master = targets(r, s.HA, "yarn.resourcemanager.scheduler.address", 8030)
	return s, r.Err()
}

// common is everything but the addresses.
func common(r *conf.Reader) settings {
	s := settings{
		HA:           r.Bool("yarn.resourcemanager.ha.enabled", false),
		CallTimeout:  r.CallTimeout(),
		CheckTimeout: r.Duration("ha.failover-controller.cli-check.rpc-timeout.ms", 20*time.Second, time.Millisecond, 0),
		PollInterval: r.Duration("yarn.client.application-client-protocol.poll-interval-ms", 200*time.Millisecond, time.Millisecond, 0),
		PollTimeout:  milliseconds(r.Int64("yarn.client.application-client-protocol.poll-timeout-ms", -1, conf.AnyInt)),
	}
	if s.CheckTimeout == 0 {
		s.CheckTimeout = s.CallTimeout
	}
	s.Policy, s.Connect = policy(r, s.HA), r.Connect(s.HA)
	return s
}

// targets are the addresses of one protocol: one, or one per rm-id.
func targets(r *conf.Reader, ha bool, property string, port int) []Target {
	if !ha {
		a := r.Address(property, fmt.Sprintf("0.0.0.0:%d", port), port)
		return []Target{{Address: a.String(), Property: r.Source(property)}}
	}
	ids := r.Strings("yarn.resourcemanager.ha.rm-ids")
	if len(ids) == 0 || len(ids) > maxResourceManagers {
		r.Fail("yarn.resourcemanager.ha.rm-ids", "%d ids, want 1 to %d while yarn.resourcemanager.ha.enabled is true", len(ids), maxResourceManagers)
		return nil
	}
	var out []Target
	for _, id := range ids {
		name := property + "." + id
		host := "yarn.resourcemanager.hostname." + id
		a := r.Address(name, "", port)
		if a.IsZero() {
			if a = r.Address(host, "", port); a.IsZero() {
				r.Fail(name, "not set, and neither is %s", host)
				continue
			}
			a.Port, name = port, host
		}
		out = append(out, Target{ID: id, Address: a.String(), Property: name})
	}
	return out
}

// policy is that of Hadoop's RMProxy.
func policy(r *conf.Reader, ha bool) ipc.Policy {
	wait := r.Int64("yarn.resourcemanager.connect.max-wait.ms", 900000, conf.NotBelow(-1))
	interval := r.Int64("yarn.resourcemanager.connect.retry-interval.ms", 30000, conf.Positive)
	p := ipc.Policy{Base: milliseconds(interval), Most: milliseconds(interval), Attempts: attempts(wait, interval)}
	if ha {
		base := r.Int64("yarn.client.failover-sleep-base-ms", interval, conf.Positive)
		p.Base = milliseconds(base)
		p.Most = milliseconds(r.Int64("yarn.client.failover-sleep-max-ms", interval, conf.Positive))
		p.Attempts = r.Int("yarn.client.failover-max-attempts", attempts(wait, base), conf.AnyInt)
		if p.Attempts <= 0 {
			p.Attempts = attempts(wait, base)
		}
	}
	return p
}

// attempts is the number of attempts, the first included; a wait of -1 means no
// limit.
func attempts(wait, interval int64) int {
	if wait < 0 {
		return math.MaxInt
	}
	return int(min(wait/interval+1, math.MaxInt32))
}

func milliseconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
