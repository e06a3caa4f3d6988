package nodemanager

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A NodeManager says that no ResourceManager takes its reports once each of them has been asked, and does not say it with every try.
func TestNobodyTakesReports(t *testing.T) {
	var out bytes.Buffer
	d := &Daemon{}
	d.Log = slog.New(slog.NewTextHandler(&out, nil))
	tell := d.unanswered(2)
	for attempt := 1; attempt <= 20; attempt++ {
		tell("rm:8031", attempt, errors.New("refused"))
		if said := strings.Count(out.String(), "no ResourceManager takes"); said != min(attempt/2, 1) {
			t.Fatalf("after try %d: %s", attempt, out.String())
		}
	}
	tell("rm:8031", 1, errors.New("refused")) // of the next report, which another one takes
	tell("rm:8031", 2, errors.New("refused")) // of one that nobody takes
	if said := strings.Count(out.String(), "no ResourceManager takes"); said != 2 || !strings.Contains(out.String(), "last=rm:8031 error=refused") {
		t.Error(out.String())
	}
}
