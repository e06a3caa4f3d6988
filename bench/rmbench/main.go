// Rmbench loads a YARN ResourceManager over Hadoop RPC and checks what it
// answers. See README.md.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/bench/internal/scen"
)

var scenarios = map[string]func([]string) error{
	"alloc":        scen.Alloc,
	"compare":      scen.Compare,
	"delay":        scen.Delay,
	"failover":     scen.Failover,
	"footprint":    scen.Footprint,
	"heartbeat":    scen.Heartbeat,
	"idle-apps":    scen.IdleApps,
	"latency":      scen.Latency,
	"readers":      scen.Readers,
	"restart":      scen.Restart,
	"start":        scen.Start,
	"submit":       scen.Submit,
	"submit-check": scen.SubmitCheck,
}

func main() {
	if len(os.Args) > 1 {
		if f := scenarios[os.Args[1]]; f != nil {
			if err := f(os.Args[2:]); err != nil {
				fmt.Fprintf(os.Stderr, "rmbench %s: %v\n", os.Args[1], err)
				os.Exit(1)
			}
			return
		}
	}
	var names []string
	for n := range scenarios {
		names = append(names, n)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: rmbench SCENARIO [flags]\nscenarios: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}
