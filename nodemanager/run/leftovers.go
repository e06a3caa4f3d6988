package run

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/heddle-project/heddle/nodemanager/process"
	"github.com/heddle-project/heddle/yarn"
)

// Cleanup removes what is of no use once a container has ended: the launch script and the credentials in its working directory,
// as Apache's NodeManager does, and the daemon's private directory for it. The rest of the working directory and the logs stay.
// The container cannot be attached to afterwards.
func (l *Launcher) Cleanup(c *Container) error {
	return errors.Join(
		RemoveTree(filepath.Join(c.WorkDir, launchScript)),
		RemoveTree(filepath.Join(c.WorkDir, tokensFile)),
		RemoveTree(filepath.Join(c.WorkDir, "sysfs")),
		RemoveTree(c.PrivateDir))
}

// privateRoot is the daemon's own below a local directory.
const privateRoot = "nmPrivate"

// maxLeftovers bounds the private directories of one local directory that are looked at, at each of the two levels.
const maxLeftovers = 100_000

// Leftovers are the containers of an earlier life that still have processes, with as much as Attach needs to know: a daemon
// that does not recover containers attaches to these and kills them. The error tells what could not be looked at.
func (l *Launcher) Leftovers(localDirs []string) ([]*Container, error) {
	var found []*Container
	var errs []error
	for _, local := range localDirs {
		all, err := recorded(filepath.Join(local, privateRoot))
		found = append(found, all...)
		errs = append(errs, err)
	}
	if len(found) == 0 {
		return nil, errors.Join(errs...)
	}
	table, err := process.Linux.Table()
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	marks, brands := map[string]bool{}, map[brand]bool{}
	for _, info := range orphans(table) {
		if value, ok := process.Linux.Variable(info.PID, mark); ok {
			marks[value] = true
		}
		if n, ok := process.Linux.RealtimeLimit(info.PID); ok {
			brands[brand(n)] = true
		}
	}
	living := slices.DeleteFunc(found, func(c *Container) bool {
		_, alive := l.process(c).alive()
		return !alive && !marks[c.ID.String()] && !brands[brandOf(c.PrivateDir)]
	})
	return living, errors.Join(errs...)
}

// recorded are the containers that have a directory below <application>/.
func recorded(root string) ([]*Container, error) {
	applications, err := namesIn(root, maxLeftovers)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var out []*Container
	for _, application := range applications {
		if _, err := yarn.ParseApplicationID(application); err != nil {
			continue
		}
		dir := filepath.Join(root, application)
		containers, err := namesIn(dir, maxLeftovers)
		if err != nil {
			return out, fmt.Errorf("look for containers of an earlier life: %w", err)
		}
		for _, name := range containers {
			if id, err := yarn.ParseContainerID(name); err == nil {
				out = append(out, &Container{ID: id, PrivateDir: filepath.Join(dir, name)})
			}
		}
	}
	return out, nil
}
