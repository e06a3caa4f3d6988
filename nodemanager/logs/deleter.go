package logs

import (
	"path/filepath"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Deleter deletes logs that are not collected.
type Deleter struct {
	Retain time.Duration   // after the application's end (yarn.nodemanager.log.retain-seconds)
	Dirs   func() []string // all log directories that can be written to now
	Remove func(paths ...string)
}

// Deadline is when to delete the logs of an application that ended at that
// time; both are milliseconds since 1970.
func (d *Deleter) Deadline(ended int64) int64 { return ended + d.Retain.Milliseconds() }

// Delete deletes an application's logs.
func (d *Deleter) Delete(id yarn.ApplicationID) {
	for _, dir := range d.Dirs() {
		d.Remove(filepath.Join(dir, id.String()))
	}
}
