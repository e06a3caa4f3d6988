package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// yarn runs a command of the binary with a daemon's configuration, for half a minute at most.
func (a *arena) yarn(d *daemon, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(a.ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.binary, append([]string{"--config", d.confDir()}, args...)...)
	cmd.Dir = d.dir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("yarn %s: %w: %s", args[0], err, last(string(out), 5))
	}
	return string(out), err
}

// victim is a daemon that is started on damaged files.
type victim struct {
	*daemon
	kept          *kept
	dir           string // of the files
	check, repair string
}

// start puts the content there and starts the daemon: it serves, or has ended with what it said last.
func (v *victim) start(content, proof []byte) (up bool, said string) {
	a := v.arena
	a.must(os.RemoveAll(v.dir))
	v.kept.put(a, v.dir, content, proof)
	return v.again()
}

func (v *victim) again() (up bool, said string) {
	before := len(v.log())
	v.launch()
	err := v.up()
	return err == nil, v.log()[before:]
}

// applications are those that the ResourceManager knows, with their states.
func applications(a *arena, d *daemon) map[yarn.ApplicationID]yarn.PublicState {
	c := d.client("asker")
	defer c.Close()
	list, err := c.Applications(a.ctx, client.ApplicationFilter{})
	a.must(err)
	out := map[yarn.ApplicationID]yarn.PublicState{}
	for _, x := range list {
		out[x.ID] = x.State
	}
	return out
}

// damageBinary tries damages on the binary: what it starts on, what it says, what its check finds and what its repair leaves.
func damageBinary(a *arena, store, labels, recovery *kept) {
	dir := func(name string) string { return filepath.Join(a.dir, "victim", name) }
	rm := &victim{a.declare("resourcemanager", "victim-rm", properties("yarn.resourcemanager.recovery.enabled", "true", pathOfStore, filepath.Join(dir("store"), store.file),
		"yarn.resourcemanager.max-completed-applications", "1000000"), clientPort, masterPort, trackerPort, adminPort, webPort),
		store, dir("store"), "-check-state-store", "-repair-state-store"}
	lm := &victim{a.declare("resourcemanager", "victim-labels", properties("yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "file://"+dir("labels")),
		clientPort, masterPort, trackerPort, adminPort, webPort), labels, dir("labels"), rm.check, rm.repair}
	nm := &victim{a.declare("nodemanager", "victim-node", properties("yarn.nodemanager.recovery.enabled", "true", "yarn.nodemanager.recovery.dir", dir("recovery"),
		"yarn.nodemanager.local-dirs", dir("local"), "yarn.nodemanager.log-dirs", dir("containers"), "yarn.resourcemanager.resource-tracker.address", "127.0.0.1:1"),
		nodePort, localizerPort, nodeWebPort), recovery, dir("recovery"), "-check-recovery-store", "-repair-recovery-store"}
	up, said := rm.start(store.now, store.proof)
	a.check(up, "the binary starts on a store that is whole", "%s", unless(up, said))
	if !up {
		return
	}
	want := applications(a, rm.daemon)
	rm.kill()
	silent, mute, harmless, refused, unlike := 0, 0, 0, 0, 0
	var example string
	sample := pick(a, 60, 8)
	for n := range sample {
		content := append([]byte(nil), store.now...)
		if n%4 > 0 {
			content[a.random.IntN(store.used)] ^= 1 << a.random.IntN(8)
		} else {
			content, _ = store.gross(a, n/4)
		}
		up, said := rm.start(content, store.proof)
		switch {
		case up:
			harmless++
			have := applications(a, rm.daemon)
			for id, s := range want {
				if have[id] != s {
					silent++
					example = fmt.Sprintf("%d of %d applications", len(have), len(want))
					break
				}
			}
			rm.kill()
		case !strings.Contains(said, rm.check) || !strings.Contains(said, rm.repair):
			mute++
			example = last(said, 1)
		default:
			refused++
		}
		if !up && n%2 == 0 {
			if why := rm.mend(a, want); why != "" {
				unlike++
				example = why
			}
		}
	}
	a.figure("the binary on a damaged state store: refused", float64(refused), "")
	a.figure("the binary on a damaged state store: up", float64(harmless), "")
	a.check(silent == 0, "the binary has every application or does not start", "%d of %d lost something in silence %s", silent, sample, example)
	a.check(mute == 0, "the binary says what to do about a damaged store", "%d of %d did not %s", mute, sample, example)
	a.check(unlike == 0, "a repaired store has what its repair says", "%d had not: %s", unlike, example)
	for _, v := range []*victim{lm, nm} {
		content := append([]byte(nil), v.kept.now...)
		clear(content[v.kept.used/2 : v.kept.used])
		up, said := v.start(content, v.kept.proof)
		v.kill()
		a.check(!up && strings.Contains(said, v.check) && strings.Contains(said, v.repair), "the binary refuses a damaged "+v.kept.name, "%s", last(said, 1))
		out, err := a.yarn(v.daemon, v.kind, v.check)
		a.check(err != nil && strings.Contains(out, "damaged"), "a check of it tells of the damage, too", "%s", unless(err != nil, out))
		out, err = a.yarn(v.daemon, v.kind, v.repair)
		a.check(err == nil && strings.Contains(out, "repaired"), "a repair succeeds", "%v", err)
		up, said = v.again()
		v.kill()
		a.check(up, "the daemon starts on what was repaired", "%s", unless(up, said))
	}
}

// unless is "so it is", or the end of a text.
func unless(ok bool, text string) string {
	if ok {
		return "so it is"
	}
	return last(text, 3)
}

var readable = regexp.MustCompile(`(?m)^(\d+) of (\d+) records can be read`)

// mend checks and repairs the store of a start that was refused, starts the daemon on it, and says what is not as it should be.
func (v *victim) mend(a *arena, want map[yarn.ApplicationID]yarn.PublicState) string {
	if out, err := a.yarn(v.daemon, v.kind, v.check); err == nil {
		return "the check says that it is whole: " + out
	}
	out, err := a.yarn(v.daemon, v.kind, v.repair)
	if err != nil {
		return err.Error()
	}
	told := 0
	if m := readable.FindStringSubmatch(out); m != nil {
		have, _ := strconv.Atoi(m[1])
		all, _ := strconv.Atoi(m[2])
		told = all - have
	}
	told += strings.Count(out, "some are not as they were") * len(want)
	if up, said := v.again(); !up {
		return "no start after a repair: " + last(said, 3)
	}
	defer v.kill()
	missing := 0
	have := applications(a, v.daemon)
	for id, s := range want {
		if have[id] != s {
			missing++
		}
	}
	if missing > told {
		return fmt.Sprintf("%d applications are missing and the repair told of %d:\n%s", missing, told, out)
	}
	return ""
}
