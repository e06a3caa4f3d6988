// Shuffle loads a server of MapReduce's shuffle as reducers do, and checks every
// byte that it answers. It knows nothing of the server but its port and the files
// that it serves, which it writes itself: the same command measures Apache's
// ShuffleHandler and Heddle's. See README.md.
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func([]string) error{"prepare": prepare, "fetch": fetch, "compare": compare}
	if len(os.Args) > 1 {
		if f := commands[os.Args[1]]; f != nil {
			if err := f(os.Args[2:]); err != nil {
				fmt.Fprintf(os.Stderr, "shuffle %s: %v\n", os.Args[1], err)
				os.Exit(1)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: shuffle prepare|fetch|compare [flags]")
	os.Exit(2)
}
