// Package engine is a sample.
package engine

import (
	_ "sample/resourcemanager/store" // want "resourcemanager/engine must not import resourcemanager/store"
	_ "sample/scheduler"
)
