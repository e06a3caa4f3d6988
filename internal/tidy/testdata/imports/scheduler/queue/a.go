// Package queue is a sample.
package queue

import (
	_ "fmt"
	_ "sample/scheduler/capacity" // want "scheduler/queue must not import scheduler/capacity"
)
