package nodemanager

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/health"
	"github.com/heddle-project/heddle/nodemanager/heartbeat"
)

// prepareHealth makes the checks of disks and scripts, whose results go to the engine and to the ResourceManager.
func (d *Daemon) prepareHealth() {
	d.health = health.New(health.Config{Dirs: d.settings.Dirs, Health: d.settings.Health, Log: d.Log.With("logger", "health"), Found: func(s health.State) {
		d.loop.Post(engine.Disks{Local: s.Local.Good, Log: s.Log.Good, TooFew: d.tooFew(s)})
	}})
}

// suspect has the disks looked at when a container has failed for one.
func (d *Daemon) suspect(err error) {
	for _, sign := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, sign) {
			d.health.Suspect()
			return
		}
	}
}

// tooFew says why no container can be started, or nothing.
func (d *Daemon) tooFew(s health.State) string {
	least := d.settings.Health.Disks.MinHealthy
	for _, x := range []struct {
		what, key string
		good, all int
	}{
		{"local", "yarn.nodemanager.local-dirs", len(s.Local.Good), len(d.settings.Dirs.Local)},
		{"log", "yarn.nodemanager.log-dirs", len(s.Log.Good), len(d.settings.Dirs.Log)},
	} {
		if x.good == 0 || float64(x.good) < least*float64(x.all) {
			return fmt.Sprintf("Most of the disks failed. %d of %d %s directories (%s) are good, and a container needs %g of them: %s", x.good, x.all, x.what, x.key, least, s.Report)
		}
	}
	return ""
}

// condition is the node's health as heartbeats report it. A node that cannot write its recovery store is reported unhealthy
// too.
func (d *Daemon) condition() heartbeat.Health {
	s := d.health.State()
	out := heartbeat.Health{Healthy: s.Healthy, Report: s.Report, At: s.At}
	if why := d.closed(); why != "" {
		out.Healthy = false
		if out.Report != "" {
			why += ";"
		}
		out.Report = why + out.Report
	}
	return out
}

// readable are the local directories that can be read.
func (d *Daemon) readable() []string { return d.health.State().Local.Readable() }
