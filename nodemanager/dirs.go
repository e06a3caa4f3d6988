package nodemanager

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/nodemanager/localize/java"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// roots are what every local directory has, with these modes.
// compat: Apache's NodeManager makes them at its start.
var roots = []struct {
	name string
	mode fs.FileMode
}{{"usercache", 0o755}, {"filecache", 0o755}, {"nmPrivate", 0o700}}

func (d *Daemon) makeRoots() {
	for _, local := range d.health.State().Local.Good {
		for _, r := range roots {
			path := filepath.Join(local, r.name)
			err := os.Mkdir(path, r.mode)
			if err == nil {
				err = os.Chmod(path, r.mode) // the process's own umask may have taken bits away
			}
			if err != nil && !errors.Is(err, fs.ErrExist) {
				d.Log.Warn("cannot make a directory for containers", "error", err)
			}
		}
	}
}

// outdated finds what the daemon's last life did not come to delete: directories of applications that are not known any more
// and of containers that have ended or are not known, and leftovers of localizers. Directories of containers that survived
// their kill stay, as do those of their applications: the next start finds these containers by them.
func (d *Daemon) outdated(s *state.Snapshot, outlived map[yarn.ContainerID]bool) (doomed []string) {
	known, live := map[yarn.ApplicationID]bool{}, map[yarn.ContainerID]bool{}
	for _, a := range s.Applications {
		known[a.ID] = true
	}
	for _, c := range s.Containers {
		known[c.ID.Attempt.Application], live[c.ID] = true, !c.Done
	}
	for id := range outlived {
		known[id.Attempt.Application], live[id] = true, true
	}
	look := func(root string) {
		for _, app := range directories(root) {
			id, err := yarn.ParseApplicationID(filepath.Base(app))
			switch {
			case strings.HasSuffix(app, temporary):
				doomed = append(doomed, app)
				continue
			case err != nil:
				continue
			case !known[id]:
				doomed = append(doomed, app)
				continue
			}
			for _, dir := range directories(app) {
				if id, err := yarn.ParseContainerID(filepath.Base(dir)); err == nil && !live[id] {
					doomed = append(doomed, dir)
				}
			}
			doomed = append(doomed, credentials(app)...)
		}
	}
	for _, local := range d.settings.Dirs.Local {
		look(filepath.Join(local, "nmPrivate"))
		for _, user := range directories(filepath.Join(local, "usercache")) {
			look(filepath.Join(user, "appcache"))
		}
	}
	return doomed
}

// credentials are the files of localizers in an application's directory, which they delete as soon as they have read them.
func credentials(app string) (out []string) {
	entries, _ := os.ReadDir(app)
	for _, e := range entries {
		if !e.IsDir() && strings.HasPrefix(e.Name(), "container_") && strings.HasSuffix(e.Name(), java.TokensSuffix) {
			out = append(out, filepath.Join(app, e.Name()))
		}
	}
	return out
}

// directories are those in a directory, links not among them; none if it cannot be read.
func directories(path string) (out []string) {
	entries, _ := os.ReadDir(path) // what cannot be read cannot be deleted either
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(path, e.Name()))
		}
	}
	return out
}
