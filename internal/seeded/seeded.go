// Package seeded runs the random tests of a package from the same seed every
// time, so that whoever runs them sees what everybody sees.
package seeded

import (
	"flag"
	"os"
	"testing"
)

// Main is for TestMain of a package with tests of pgregory.net/rapid. The flag
// -rapid.seed still asks for another seed, -rapid.checks for more of them.
func Main(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := flag.Set(f.Name, "1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// Full tells whether the tests play as much as they do by default. What they must have come upon by then they need not have with -short, which
// plays a fifth of it, or with -rapid.checks.
func Full() bool {
	return !testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100"
}
