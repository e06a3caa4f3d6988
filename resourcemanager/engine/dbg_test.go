package engine

import (
	"fmt"
	"os"
)

func init() {
	if os.Getenv("DBG") != "" {
		debugf = func(f string, a ...any) { fmt.Printf(f+"\n", a...) }
	}
}
