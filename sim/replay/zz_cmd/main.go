package main

import (
	"os"

	"github.com/heddle-project/heddle/sim/replay"
)

func main() { os.Exit(replay.Main(os.Args[1:], os.Stdout, os.Stderr)) }
