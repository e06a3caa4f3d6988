package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/heddle-project/heddle/cli"
)

// upkeep is what a daemon's command does to its store instead of running.
type upkeep struct {
	checkWord, repairWord string
	check                 func(io.Writer) (whole bool, err error)
	repair                func(io.Writer) error
}

// do does what the words after the daemon's name say; done is false if there
// are none and the daemon is to run.
func (u upkeep) do(s cli.Start) (done bool, err error) {
	switch {
	case len(s.Args) == 0:
		return false, nil
	case len(s.Args) == 1 && s.Args[0] == u.checkWord:
		whole, err := u.check(s.Stdout)
		if err == nil && !whole {
			err = cli.Exit(1)
		}
		return true, err
	case len(s.Args) == 1 && s.Args[0] == u.repairWord:
		return true, u.repair(s.Stdout)
	}
	return true, fmt.Errorf("%q is not understood: either nothing, or one of %s (reads the store and tells what is damaged) and %s (keeps what can be read of a damaged one)",
		strings.Join(s.Args, " "), u.checkWord, u.repairWord)
}
