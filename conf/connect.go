package conf

import "time"

// Connect says how often, and for how long, connecting is tried before the policy of retries counts a failure; see ipc.Connect.
type Connect struct {
	Retries int           // ipc.client.connect.max.retries; with yarn.resourcemanager.ha.enabled yarn.client.failover-retries
	Pause   time.Duration // ipc.client.connect.retry.interval
	Timeout time.Duration // ipc.client.connect.timeout
}

// Connect reads how to connect to a ResourceManager; ha: yarn.resourcemanager.ha.enabled.
func (r *Reader) Connect(ha bool) Connect {
	c := Connect{
		Retries: r.Int("ipc.client.connect.max.retries", 10, NotBelow(0)),
		Pause:   r.Duration("ipc.client.connect.retry.interval", time.Second, time.Millisecond, 0),
		Timeout: r.Duration("ipc.client.connect.timeout", 20*time.Second, time.Millisecond, time.Millisecond),
	}
	if ha {
		c.Retries = r.Int("yarn.client.failover-retries", 0, NotBelow(0))
	}
	return c
}

// CallTimeout reads how long the answer to a call is waited for (ipc.client.rpc-timeout.ms). 0 is "for ever" in Hadoop, and a day here.
func (r *Reader) CallTimeout() time.Duration {
	if d := r.Duration("ipc.client.rpc-timeout.ms", 120*time.Second, time.Millisecond, 0); d > 0 {
		return d
	}
	return 24 * time.Hour
}
