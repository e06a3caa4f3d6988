package confstore_test

import (
	"flag"
	"testing"

	"github.com/heddle-project/heddle/internal/seeded"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil { // each waits for the disk many times
		panic(err)
	}
	seeded.Main(m)
}
