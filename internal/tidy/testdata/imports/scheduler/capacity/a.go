// Package capacity is a sample.
package capacity

import (
	_ "sample/resourcemanager/engine" // want "scheduler must not import resourcemanager/engine"
	_ "sample/yarn"
)
