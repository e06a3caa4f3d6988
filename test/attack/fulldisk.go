package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// fulldisk has a tenant's application fill the only disk of a node, die of it, and come again, as its master is not to blame.
// The disk is a small one in a mount namespace of the NodeManager's own; where the kernel does not allow that nothing is attacked.
func fulldisk(a *arena) {
	disk := filepath.Join(a.dir, "disk")
	a.must(os.Mkdir(disk, 0o755))
	inside := filepath.Join(a.dir, "inside.sh")
	const script = `#!/bin/sh
exec unshare --user --map-root-user --mount /bin/sh -c 'mount -t tmpfs -o size=48m,mode=755 attack %[1]s && exec "$@"' inside %[2]s "$@"
`
	binary := a.binary
	a.must(os.WriteFile(inside, fmt.Appendf(nil, script, disk, binary), 0o755))
	if out, err := command(a.ctx, "unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "size=1m", "attack", disk); err != nil {
		fmt.Printf("     not run, as the kernel allows no mounts of one's own here: %v %s\n", err, out)
		return
	}
	c := &cluster{arena: a}
	c.rm = a.resourceManager(properties("yarn.scheduler.minimum-allocation-mb", "16", "yarn.resourcemanager.am.max-attempts", "1000"))
	a.binary = inside
	c.nm = a.nodeManager(c.rm, "nm", properties("yarn.nodemanager.local-dirs", filepath.Join(disk, "local"), "yarn.nodemanager.log-dirs", filepath.Join(disk, "logs"),
		"yarn.nodemanager.disk-health-checker.interval-ms", "500", "yarn.nodemanager.resource.memory-mb", "65536", "fs.defaultFS", "file:///",
		"yarn.nodemanager.sleep-delay-before-sigkill.ms", "100"))
	a.binary = binary
	a.must(os.MkdirAll(c.path("marks"), 0o755))
	x := c.rm.client("mallory")
	defer x.Close()

	j := c.submit(x, "cat /dev/zero > full; exec sleep 1000", 1000, nil)
	turns, healthy, report := 0, true, ""
	watched := pick(a, 60*time.Second, 12*time.Second)
	a.until(watched, func() bool {
		var page struct {
			NodeInfo struct {
				NodeHealthy  bool
				HealthReport string
			}
		}
		if c.node("/info", &page) == nil {
			if page.NodeInfo.NodeHealthy != healthy {
				turns, healthy = turns+1, page.NodeInfo.NodeHealthy
			}
			if strings.Contains(page.NodeInfo.HealthReport, "out until") {
				report = page.NodeInfo.HealthReport
			}
		}
		return false
	})
	app, err := x.Application(c.ctx, j.app)
	a.must(err)
	attempts := int(app.CurrentAttempt.Attempt)
	a.figure("seconds", watched.Seconds(), "")
	a.figure("times that the node's health turned", float64(turns), "")
	a.figure("attempts of the application", float64(attempts), "")
	fmt.Printf("     the node says: %s\n", report)
	most := pick(a, 3, 2) // one at first, and one after 30 s
	a.check(turns > 0 && attempts <= most, fmt.Sprintf("at most %d attempts in %v", most, watched), "%d", attempts)
	a.check(report != "", "the node says that its disk stays out", "in %d bytes", len(report))
	a.must(x.KillApplication(c.ctx, j.app, "the attack is over"))
	a.check(a.until(30*time.Second, func() bool {
		app, err := x.Application(c.ctx, j.app)
		return err == nil && app.State == yarn.PublicKilled
	}) && c.nm.running(), "the NodeManager goes on", "running: %v", c.nm.running())
}
