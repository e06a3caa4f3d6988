package nodemanager

import (
	"log/slog"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/yarn"
)

// A user whom a list names is on it though nobody can tell the user's groups.
func TestListedUserWithoutGroups(t *testing.T) {
	g, err := groups.New(groups.Options{Timeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a := access{groups: g}
	const stranger = "no-such-user-of-this-machine"
	if list, err := g.Of(t.Context(), stranger); err == nil && len(list) > 0 {
		t.Fatalf("this machine finds groups of %s: %v", stranger, list)
	}
	for text, want := range map[string]bool{stranger + " wheel": true, "alice wheel": false, stranger: true, "*": true, " ": false} {
		if got := a.allows(yarn.ParseACL(text), webgate.Caller{User: stranger}); got != want {
			t.Errorf("list %q: %t, want %t", text, got, want)
		}
	}
}
