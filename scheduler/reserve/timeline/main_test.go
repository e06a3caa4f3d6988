package timeline

import (
	"testing"

	"github.com/heddle-project/heddle/internal/seeded"
)

func TestMain(m *testing.M) { seeded.Main(m) }
