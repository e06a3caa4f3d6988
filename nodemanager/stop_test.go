package nodemanager

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// A stop leaves containers running only if the next life will know of them and nobody waits for their end.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"supervised": {"yarn.nodemanager.recovery.enabled", "true", "yarn.nodemanager.recovery.supervised", "true"},
		"recovery":   {"yarn.nodemanager.recovery.enabled", "true"},
		"nothing":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := quietWorld(t, settings...)
			w.fixPort()
			w.start()
			id := w.runs(w.counted("it", "4"))
			w.printed(id, "ready")
			w.end()
			var byes int
			w.rm.with(func() { byes = w.rm.left })
			if name == "supervised" {
				if len(w.processes()) == 0 || byes != 0 {
					t.Errorf("%v run, %d good-byes", w.processes(), byes)
				}
				w.start()
				w.let("it")
				w.exits(id, 4)
				return
			}
			if len(w.processes()) != 0 || byes != 1 {
				t.Errorf("%v run, %d good-byes", w.processes(), byes)
			}
			if s := w.rm.latest(id); s.GetState() == pb.ContainerState_C_COMPLETE && s.GetExitStatus() != -106 {
				t.Errorf("it ends with %v", s)
			}
			if exists(w.path("local/usercache/ann/appcache", w.app.String())) || exists(w.path("local/nmPrivate", w.app.String())) {
				t.Error("its directories are there")
			}
			w.start()
			if told := w.told(); len(told) > 0 {
				t.Errorf("the node registers with %v", told)
			}
			w.works()
		})
	}
}

// The ResourceManager's order to go down ends the node and its containers, and is no failure.
func TestShutdown(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.start()
	w.runs("sleep 1000")
	w.rm.with(func() { w.rm.orders.NodeAction = pb.NodeAction_SHUTDOWN.Enum() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.daemon.Wait(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("the node ends with %v %v", err, ctx.Err())
	}
	w.end()
	if left := w.processes(); len(left) > 0 || w.rm.left > 0 {
		t.Errorf("these are left: %v; %d good-byes", left, w.rm.left)
	}
}

// A ResourceManager that has forgotten the node hears of its containers again, and they go on.
func TestResync(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.runs(w.counted("it", "4"))
	w.printed(id, "ready")
	w.rm.with(func() {
		w.rm.orders.NodeAction = pb.NodeAction_RESYNC.Enum()
		w.rm.issuer++
	})
	w.registered(1)
	if told := w.told(); told[id] != -1000 || len(told) != 1 {
		t.Errorf("the node registers with %v", told)
	}
	w.let("it")
	w.exits(id, 4)
	w.works()
}

// A stop waits for containers that take the time that they have after SIGTERM, and says good-bye after that.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.sleep-delay-before-sigkill.ms", "5500")
	id := w.runs(`trap '' TERM; echo ready; while :; do sleep 1000; done`)
	w.printed(id, "ready")
	w.end()
	if left := w.processes(); len(left) > 0 || w.rm.left != 1 {
		t.Errorf("these are left: %v; %d good-byes", left, w.rm.left)
	}
}

// A start that fails says why and leaves nothing.
func TestStartFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taken := w.node().String()
	for name, value := range map[string]string{
		"yarn.nodemanager.address":           taken,
		"yarn.nodemanager.localizer.address": taken,
		"yarn.nodemanager.webapp.address":    taken,
		"yarn.nodemanager.recovery.dir":      w.file("file", nil),
	} {
		site := maps.Clone(w.site)
		if site[name] = value; strings.HasSuffix(name, "recovery.dir") {
			site["yarn.nodemanager.recovery.enabled"], site["yarn.nodemanager.address"] = "true", taken
		}
		d, err := Start(options(site, w.log))
		if err == nil {
			d.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	w.works()
}
