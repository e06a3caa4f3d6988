package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// mustParse reads legacy mappings, or JSON rules if the text is an object.
func mustParse(t *testing.T, override bool, text string) *Rules {
	t.Helper()
	s := Settings{Override: override, Mappings: text}
	if strings.HasPrefix(text, "{") {
		s = Settings{Override: override, Format: FormatJSON, JSON: text}
	}
	r, findings := Parse(s)
	if findings != nil {
		t.Fatalf("%s: %v", text, findings)
	}
	return r
}

// rulesJSON is a document with the given rules, and matches everyone where a rule says nothing.
func rulesJSON(rules ...string) string {
	for i, r := range rules {
		if !strings.Contains(r, `"type"`) {
			r = `"type":"user","matches":"*",` + r
		}
		rules[i] = "{" + r + "}"
	}
	return `{"rules":[` + strings.Join(rules, ",") + `]}`
}

// print is a placement in one line: a queue, "new" if it is created, "as submitted", or the reason.
func print(p Placement, why yarn.Reason) string {
	switch {
	case !why.OK():
		return string(why.Code)
	case !p.Decided():
		return "as submitted"
	case p.Create:
		return "new " + p.Queue
	}
	return p.Queue
}

func TestLegacyMappings(t *testing.T) {
	for _, c := range []struct {
		mappings string
		request  Request
		want     string
	}{
		{"u:ann:root.ops", Request{User: "ann"}, "root.ops"},
		{"u:ann:ops", Request{User: "ann"}, "root.ops"},
		{"u:ann:users.bob", Request{User: "ann"}, "root.users.bob"},
		{"u:ann:root.ops", Request{User: "Ann"}, "as submitted"},
		{"u:ann:root.ops,u:ann:root.dev", Request{User: "ann"}, "root.ops"},
		{"g:qa:root.ops", Request{User: "x", Groups: []string{"dev", "qa"}}, "root.ops"},
		{"g:qa:root.ops", Request{User: "qa"}, "as submitted"},
		{"u:%user:%user", Request{User: "bob"}, "root.users.bob"},
		{"u:%user:root.users.%user", Request{User: "bob"}, "root.users.bob"},
		{"u:%user:root.users.%user", Request{User: "cid"}, "root.default"},
		{"u:%user:%primary_group", Request{User: "bob", Groups: []string{"ops", "dev"}}, "root.ops"},
		{"u:%user:%primary_group", Request{User: "bob", Groups: []string{"dev"}}, "root.default"}, // two queues are called dev
		{"u:%user:root.%primary_group", Request{User: "bob", Groups: []string{"dev"}}, "root.dev"},
		{"u:%user:%secondary_group", Request{User: "bob", Groups: []string{"x", "nowhere", "ops"}}, "root.ops"},
		{"u:%user:root.users.%secondary_group", Request{User: "bob", Groups: []string{"x", "ops", "dev"}}, "root.users.dev"},
		{"u:%user:%secondary_group", Request{User: "bob", Groups: []string{"ops"}}, "root.default"},
		{"u:%user:%secondary_group", Request{User: "bob"}, "root.default"},
		{"u:%user:root.managed.%user", Request{User: "cid"}, "new root.managed.cid"},
		{"u:%user:root.managed.%user", Request{User: "ann"}, "root.managed.ann"},
		{"u:%user:root.managed.%user", Request{User: "c.i.d"}, "new root.managed.c_dot_i_dot_d"},
		{"u:%user:root.managed.%primary_group.%user", Request{User: "cid", Groups: []string{"dev"}}, "root.default"},
		{"u:%user:root.free.%primary_group.%user", Request{User: "cid", Groups: []string{"d.v"}}, "new root.free.d_dot_v.cid"},
		{"u:%user:free.team.%user", Request{User: "cid"}, "new root.free.team.cid"},
		{"u:%user:root.free.a.b.%user", Request{User: "cid"}, "root.default"}, // two levels are too many
		{"u:%user:root.users", Request{User: "ann"}, "root.default"},
		{"u:%user:root.ops.below", Request{User: "ann"}, "root.default"},
		{"u:%user:root.users.%user.", Request{User: "ann"}, "root.users.ann"},
		{"u:a.nn:root.ops", Request{User: "a.nn"}, "root.ops"},
		{"u:%primary_group:root.ops", Request{User: "ann", Groups: []string{"ann"}}, "root.ops"},
	} {
		c.request.Queue = NoQueue
		p, why := mustParse(t, false, c.mappings).Place(c.request, company())
		if got := print(p, why); got != c.want {
			t.Errorf("%s, %+v: %s, want %s", c.mappings, c.request, got, c.want)
		}
	}
}

func TestApplicationMappingsComeAfterUsers(t *testing.T) {
	r, findings := Parse(Settings{Mappings: "u:ann:root.ops", AppMappings: "etl:root.dev, %user:root.users.%application"})
	if findings != nil || r.Len() != 3 || r.Text(1) != "etl:root.dev" {
		t.Fatal(findings)
	}
	for _, c := range []struct{ user, app, want string }{
		{"ann", "etl", "root.ops"}, {"bob", "etl", "root.dev"}, {"bob", "ETL", "as submitted"}, {"bob", "bob", "root.users.bob"},
	} {
		p, why := r.Place(Request{User: c.user, Application: c.app, Queue: NoQueue}, company())
		if got := print(p, why); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.app, c.user, got, c.want)
		}
	}
}

func TestJurisdiction(t *testing.T) {
	for _, c := range []struct {
		queue                string
		override, recovering bool
		want                 string
	}{
		{NoQueue, false, false, "root.users.ann"},
		{"root.default", false, false, "as submitted"},
		{"root.ops", false, false, "as submitted"},
		{"root.ops", true, false, "root.users.ann"},
		{"", false, false, "PLACEMENT_NONE"},
		{"", true, false, "PLACEMENT_NONE"},
		{"ann", false, true, "root.users.ann"},
		{"root.users.ann", false, true, "as submitted"},
		{"ops", true, true, "as submitted"},
	} {
		p, why := mustParse(t, c.override, "u:ann:root.users.ann").Place(Request{User: "ann", Queue: c.queue, Recovering: c.recovering}, company())
		if got := print(p, why); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if !p.Decided() && p.Queue != c.queue {
			t.Errorf("%+v: undecided, but the queue became %q", c, p.Queue)
		}
	}
}

func TestPolicies(t *testing.T) {
	ann := Request{User: "ann", Groups: []string{"ops", "nowhere", "dev"}, Application: "etl"}
	for _, c := range []struct {
		rules   []string
		queue   string
		request Request
		want    string
	}{
		{[]string{`"policy":"specified"`}, "ops", ann, "root.ops"},
		{[]string{`"policy":"specified"`}, NoQueue, ann, "as submitted"},
		{[]string{`"policy":"specified"`}, "root.nowhere", ann, "as submitted"},
		{[]string{`"policy":"specified","fallbackResult":"reject"`}, "users", ann, "PLACEMENT_REJECTED"},
		{[]string{`"policy":"specified","create":false`}, "root.managed.cid", ann, "as submitted"},
		{[]string{`"policy":"specified","create":"true"`}, "root.managed.cid", ann, "new root.managed.cid"},
		{[]string{`"policy":"specified","fallbackResult":"placeDefault"`}, "root.users.", ann, "root.default"},
		{[]string{`"policy":"reject","fallbackResult":"skip"`}, "ops", ann, "PLACEMENT_REJECTED"},
		{[]string{`"policy":"defaultQueue"`}, "ops", ann, "root.default"},
		{[]string{`"policy":"setDefaultQueue","value":"root.users.%user"`, `"policy":"defaultQueue"`}, "x", ann, "root.users.ann"},
		{[]string{`"policy":"setDefaultQueue","value":"root.gone"`, `"policy":"defaultQueue"`}, "x", ann, "as submitted"},
		{[]string{`"policy":"setDefaultQueue","value":"root.gone"`, `"policy":"defaultQueue","fallbackResult":"placeDefault"`}, "x", ann, "PLACEMENT_NO_DEFAULT"},
		{[]string{`"policy":"setDefaultQueue","value":"root.managed.new"`, `"policy":"defaultQueue","create":true`}, "x", ann, "as submitted"},
		{[]string{`"policy":"setDefaultQueue","value":"%default_x"`, `"policy":"custom","customPlacement":"%default"`}, "x", ann, "as submitted"},
		{[]string{`"policy":"user"`}, "x", ann, "as submitted"}, // two queues are called ann
		{[]string{`"policy":"user","parentQueue":"users"`}, "x", ann, "root.users.ann"},
		{[]string{`"policy":"applicationName","parentQueue":"root.free"`}, "x", ann, "new root.free.etl"},
		{[]string{`"policy":"applicationName","parentQueue":"root.free"`}, "x", Request{User: "ann", Application: "a.b"}, "new root.free.a.b"},
		{[]string{`"policy":"primaryGroup"`}, "x", ann, "root.ops"},
		{[]string{`"policy":"primaryGroup"`}, "x", Request{User: "ann"}, "as submitted"},
		{[]string{`"policy":"primaryGroupUser","parentQueue":"root.free"`}, "x", ann, "new root.free.ops.ann"},
		{[]string{`"policy":"secondaryGroup","parentQueue":"root"`}, "x", ann, "root.dev"},
		{[]string{`"policy":"secondaryGroup"`}, "x", ann, "as submitted"}, // dev is ambiguous
		{[]string{`"policy":"secondaryGroupUser","parentQueue":"root.free"`}, "x", Request{User: "cid", Groups: []string{"x", "team"}}, "new root.free.team.cid"},
		{[]string{`"policy":"custom","customPlacement":"root.%application.%primary_group"`, `"policy":"custom","customPlacement":"root.users.bob"`}, "x", ann, "root.users.bob"},
		{[]string{`"policy":"custom","customPlacement":"root.users.%specified"`}, "ann", ann, "root.users.ann"},
		{[]string{`"policy":"custom","customPlacement":"root.users. ann "`}, "x", ann, "root.users.ann"},
		{[]string{`"type":"user","matches":"bob","policy":"reject"`, `"policy":"primaryGroup"`}, "x", ann, "root.ops"},
		{[]string{`"type":"group","matches":"dev","policy":"custom","customPlacement":"root.dev"`}, "x", ann, "root.dev"},
		{[]string{`"type":"group","matches":"%user","policy":"reject"`}, "x", Request{User: "dev", Groups: []string{"x", "dev"}}, "PLACEMENT_REJECTED"},
		{[]string{`"type":"application","matches":"etl","policy":"custom","customPlacement":"ops"`}, "x", ann, "root.ops"},
		{[]string{`"type":"application","matches":"*","policy":"reject"`}, "x", ann, "as submitted"},
		{nil, "ops", ann, "as submitted"},
	} {
		text := rulesJSON(c.rules...)
		c.request.Queue = c.queue
		r := mustParse(t, true, text)
		p, why := r.Place(c.request, company())
		if got := print(p, why); got != c.want {
			t.Errorf("%s, %+v: %s, want %s", text, c.request, got, c.want)
		}
		q, because, steps := r.Explain(c.request, company())
		if q != p || because != why || p.Decided() && len(steps) != p.Rule+1 {
			t.Errorf("%s: explained as %+v, %v, %v", text, q, because, steps)
		}
	}
}

func TestExplain(t *testing.T) {
	r := mustParse(t, true, rulesJSON(
		`"type":"user","matches":"bob","policy":"reject"`,
		`"policy":"setDefaultQueue","value":"root.qa.team"`,
		`"policy":"user","parentQueue":"root.ops"`,
		`"policy":"primaryGroup","fallbackResult":"placeDefault"`))
	p, why, steps := r.Explain(Request{User: "ann", Groups: []string{"users"}, Queue: NoQueue}, company())
	if got := print(p, why); got != "root.qa.team" || p.Rule != 3 {
		t.Errorf("placed: %s by rule %d", got, p.Rule)
	}
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%d %s|%s|%s", s.Rule, s.Result, s.Queue, s.Reason.Code))
	}
	want := []string{
		"0 not matched||",
		"1 default queue set|root.qa.team|",
		"2 failed, on to the next rule||PLACEMENT_NOT_CREATABLE",
		"3 failed, placed in the default queue|root.qa.team|PLACEMENT_NOT_LEAF",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("steps:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRefusalsTellWhy(t *testing.T) {
	const rest = `,"fallbackResult":"reject"`
	for _, c := range []struct{ rule, queue, subject, detail string }{
		{`"policy":"reject"`, "x", `"policy":"reject"`, "rejects what it matches"},
		{`"policy":"specified"` + rest, "root..x", "specified", `"root..x" has an empty part`},
		{`"policy":"specified"` + rest, "nowhere", "specified", `there is no queue "nowhere"`},
		{`"policy":"specified"` + rest, "nowhere.ann", "specified", `no queue "nowhere" at which the path`},
		{`"policy":"specified"` + rest, "dev", "specified", `several queues have the name "dev"`},
		{`"policy":"specified"` + rest, "dev.x", "specified", `several queues have the name "dev"`},
		{`"policy":"specified"` + rest, "users", "specified", `"root.users" is a parent`},
		{`"policy":"specified"` + rest, "root.users.cid", "specified", `"root.users" does not create queues`},
		{`"policy":"specified"` + rest, "root.a.b.c", "specified", `neither its parent nor the parent of that exists`},
		{`"policy":"specified"` + rest, "root.a.b", "specified", `"root" does not create parents`},
		{`"policy":"specified"` + rest, "root.x", "specified", `"root" does not create queues`},
		{`"policy":"specified","create":false` + rest, "root.managed.x", "specified", "does not allow creating it"},
	} {
		_, why := mustParse(t, true, rulesJSON(c.rule)).Place(Request{User: "ann", Queue: c.queue}, company())
		if why.Code != Rejected || !strings.Contains(why.Subject, c.subject) || !strings.Contains(why.Detail, c.detail) {
			t.Errorf("%s, %s: %+v, want %q", c.rule, c.queue, why, c.detail)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "u:user%d:root.ops,", i)
	}
	r, _ := Parse(Settings{Mappings: text.String() + "u:%user:root.users.%user"})
	queues, req := company(), Request{User: "ann", Groups: []string{"dev"}, Queue: NoQueue}
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := r.Place(req, queues); p.Queue != "root.users.ann" {
			b.Fatal(p)
		}
	}
}
