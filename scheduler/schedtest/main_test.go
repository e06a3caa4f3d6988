package schedtest

import (
	"flag"
	"os"
	"testing"
)

// TestMain fixes the seed of random tests; -rapid.seed asks for another one.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		flag.Set("rapid.seed", "1")
	}
	os.Exit(m.Run())
}
