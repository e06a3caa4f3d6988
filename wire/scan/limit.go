package scan

import "fmt"

// LimitError is a list of a request that is longer than is taken.
type LimitError struct {
	What string // plural
	Max  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("more than %d %s in one call; send fewer at once", e.Max, e.What)
}
