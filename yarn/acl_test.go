package yarn

import (
	"slices"
	"testing"
)

func TestParseACL(t *testing.T) {
	for _, c := range []struct {
		text, printed string
		users, groups []string
	}{
		{"", " ", nil, nil},
		{" ", " ", nil, nil},
		{"   ", " ", nil, nil},
		{",,", " ", nil, nil},
		{"alice", "alice ", []string{"alice"}, nil},
		{"alice,bob,alice", "alice,bob ", []string{"alice", "bob"}, nil},
		{"alice,bob dev,ops", "alice,bob dev,ops", []string{"alice", "bob"}, []string{"dev", "ops"}},
		{" dev", " dev", nil, []string{"dev"}},
		{"alice dev , ops", "alice dev,ops", []string{"alice"}, []string{"dev", "ops"}},
		{"alice, bob", "alice bob", []string{"alice"}, []string{"bob"}},
		{"alice\nbob dev", "alice,bob dev", []string{"alice", "bob"}, []string{"dev"}},
		{"alice,* dev", "alice,* dev", []string{"alice", "*"}, []string{"dev"}},
		{"~oozie dev", "~oozie dev", []string{"~oozie"}, []string{"dev"}},
		{"*", "*", nil, nil},
		{" *", "*", nil, nil},
		{"* dev", "*", nil, nil},
		{"alice *", "*", nil, nil},
		{",* dev", ",* dev", []string{"*"}, []string{"dev"}},
		{"alice ,*", "alice ,*", []string{"alice"}, []string{"*"}},
		{"alice  ops", "alice ops", []string{"alice"}, []string{"ops"}},
	} {
		l := ParseACL(c.text)
		if got := l.String(); got != c.printed {
			t.Errorf("%q prints as %q, want %q", c.text, got, c.printed)
		}
		if !slices.Equal(l.Users(), c.users) || !slices.Equal(l.Groups(), c.groups) {
			t.Errorf("%q: users %q, groups %q", c.text, l.Users(), l.Groups())
		}
		if again := ParseACL(l.String()); again.String() != l.String() {
			t.Errorf("%q is read again as %q", l.String(), again.String())
		}
		if l.All() != (c.printed == "*") || l.Nobody() != (c.printed == " ") {
			t.Errorf("%q: all %v, nobody %v", c.text, l.All(), l.Nobody())
		}
	}
}

func TestACLAllows(t *testing.T) {
	for _, c := range []struct {
		text, user, real string
		groups           []string
		want             bool
	}{
		{"*", "anyone", "", nil, true},
		{" ", "alice", "", []string{"dev"}, false},
		{"", "", "", nil, false},
		{"alice", "alice", "", nil, true},
		{"alice", "Alice", "", nil, false},
		{"alice dev", "bob", "", []string{"ops", "dev"}, true},
		{"alice dev", "bob", "", []string{"ops"}, false},
		{"alice dev", "dev", "", nil, false},
		{"alice", "bob", "alice", nil, false},
		{"~oozie", "bob", "oozie", nil, true},
		{"~oozie", "bob", "", nil, false},
		{"~oozie", "oozie", "", nil, false},
		{"~oozie", "bob", "hue", nil, false},
		{" ~oozie", "bob", "oozie", nil, false},
		{"~", "bob", "", nil, false},
		{"alice,* dev", "bob", "", nil, false},
	} {
		if got := ParseACL(c.text).Allows(c.user, c.real, c.groups); got != c.want {
			t.Errorf("%q allows %q (for %q, groups %q): %v", c.text, c.user, c.real, c.groups, got)
		}
	}
	if (ACL{}).Allows("alice", "", nil) || !Everybody().Allows("alice", "", nil) {
		t.Error("the empty list allows, or the full one does not")
	}
}

func TestSuspiciousACL(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, " ": false, "*": false, " * ": false, "alice": false, "alice,bob dev,ops": false, " dev": false, "alice ": false,
		"alice, bob": true, "alice dev ops": true, "alice,*": true, "alice dev,*": true,
	} {
		if got := SuspiciousACL(text); (got != "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzACL(f *testing.F) {
	f.Add("alice,bob dev,ops", "alice", "dev")
	f.Add(",*", "alice", "dev")
	f.Add("alice ,*", "bob", "dev")
	f.Fuzz(func(t *testing.T, text, user, group string) {
		l := ParseACL(text)
		again := ParseACL(l.String())
		for _, groups := range [][]string{nil, {group}} {
			if l.Allows(user, "", groups) != again.Allows(user, "", groups) {
				t.Fatalf("%q and %q differ on %q, %q", text, l, user, groups)
			}
		}
		SuspiciousACL(text)
	})
}
