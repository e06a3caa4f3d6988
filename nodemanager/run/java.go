package run

import (
	"path/filepath"

	"github.com/heddle-project/heddle/internal/jvm"
)

const modernJava = 17 // the first version that needs <ADD_OPENS>

// modernJava tells whether the Java that a container will run is 17 or newer, which the options of <ADD_OPENS> need and
// older ones refuse. home is the container's JAVA_HOME; if it has none, one that only its script can expand, or one that
// does not say its version, the node's counts: no program is run because a container names it.
// compat: Apache asks the NodeManager's own Java.
func (l *Launcher) modernJava(home string) bool {
	if filepath.IsAbs(home) {
		if version := jvm.Release(home); version != 0 {
			return version >= modernJava
		}
	}
	return l.nodeJava()
}

// askNode finds the Java of the node's containers. One that does not say its version is taken for a new one.
func (l *Launcher) askNode() bool {
	home := jvm.Home(func(name string) string { return l.own[name] })
	version := 0
	if home != "" {
		version = jvm.Version(home)
	}
	if version == 0 {
		l.cfg.Log.Warn("the Java of containers is not known, taking it for 17 or newer: set JAVA_HOME", "home", home)
		return true
	}
	return version >= modernJava
}
