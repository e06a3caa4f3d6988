package core

import (
	"github.com/heddle-project/heddle/scheduler/config"
)

// Basis is what a policy depends on when it makes something of a configuration. It does
// not change, so that the making can go on beside the scheduler.
type Basis interface {
	// Prepare does what can be done of a Refresh beforehand; nil is a Refresh without a
	// new configuration.
	Prepare(cfg *config.Config) Prepared
}

// Prepared is what a Basis has made. It is good for one Refresh of the scheduler from
// which the basis is; nil spares nothing.
type Prepared any
