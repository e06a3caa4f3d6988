package placement

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	asJSON := func(text string) Settings { return Settings{Format: FormatJSON, JSON: text} }
	for _, c := range []struct {
		settings Settings
		property string
		want     string
	}{
		{Settings{Format: "xml"}, PropFormat, "neither"},
		{Settings{Mappings: "u:ann"}, PropMappings, "want u:<user>:<queue>"},
		{Settings{Mappings: "u:ann:"}, PropMappings, "want u:<user>:<queue>"},
		{Settings{Mappings: "u:a:b:c"}, PropMappings, "want u:<user>:<queue>"},
		{Settings{Mappings: "a:x:root.a"}, PropMappings, `"a" is neither u for a user nor g for a group`},
		{Settings{AppMappings: "etl"}, PropAppMappings, "want <application>:<queue>"},
		{Settings{AppMappings: "u:etl:x"}, PropAppMappings, "want <application>:<queue>"},
		{Settings{Placements: "user-group,user-group"}, PropPlacements, "listed twice"},
		{Settings{Placements: "org.example.Mine"}, PropPlacements, "not known"},
		{Settings{Mappings: strings.Repeat("x", MaxText+1)}, PropMappings, "limit"},
		{Settings{Mappings: many(MaxRules + 1)}, PropMappings, "limit"},
		{asJSON(`{`), PropJSON, "not a JSON object"},
		{asJSON(`[]`), PropJSON, "not a JSON object"},
		{asJSON(`{"rules":{}}`), PropJSON, `"rules" is not a list`},
		{asJSON(`{"rules":null}`), PropJSON, `"rules" is not a list`},
		{asJSON(`{"rules":[1]}`), PropJSON, "not a JSON object"},
		{asJSON(`{"rules":[null]}`), PropJSON, "not a JSON object"},
		{asJSON(`{"rules":[{}]}`), PropJSON, `"policy" is missing`},
		{asJSON(`{"rules":[{"policy":"user"}]}`), PropJSON, `"type" is missing`},
		{asJSON(`{"rules":[{"policy":"user","type":"user"}]}`), PropJSON, `"matches" is missing`},
		{asJSON(`{"rules":[{"policy":"user","type":"user","matches":""}]}`), PropJSON, `"matches" is missing or empty`},
		{asJSON(`{"rules":[{"policy":"user","type":"user","matches":5}]}`), PropJSON, `"matches" is not a text`},
		{asJSON(rulesJSON(`"policy":"User"`)), PropJSON, `policy "User" is unknown`},
		{asJSON(rulesJSON(`"type":"group","matches":"*","policy":"user"`)), PropJSON, "for users only"},
		{asJSON(rulesJSON(`"type":"host","matches":"*","policy":"user"`)), PropJSON, `type "host" is unknown`},
		{asJSON(rulesJSON(`"policy":"custom"`)), PropJSON, "customPlacement"},
		{asJSON(rulesJSON(`"policy":"setDefaultQueue"`)), PropJSON, `"value"`},
		{asJSON(rulesJSON(`"policy":"user","create":1`)), PropJSON, `"create" is neither`},
		{asJSON(rulesJSON(`"policy":"user","fallbackResult":"none"`)), PropJSON, `fallbackResult "none" is unknown`},
		{Settings{Format: FormatJSON, JSONFile: "{"}, PropJSONFile, "not a JSON object"},
	} {
		r, findings := Parse(c.settings)
		if r != nil || len(findings) != 1 || findings[0].Property != c.property || findings[0].Reason.OK() ||
			!strings.Contains(findings[0].Reason.Detail, c.want) {
			t.Errorf("%.80v: rules %v, findings %.300v, want %q", c.settings, r != nil, findings, c.want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "u:%d:q,", i)
	}
	return b.String()
}

func TestParseFindsEverything(t *testing.T) {
	_, findings := Parse(Settings{Mappings: "x:a:b,u:ann:root.a,u:", AppMappings: "etl", Placements: "mine"})
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%d %s", f.Rule, f.Text))
	}
	if want := "-1 mine; 0 x:a:b; 1 u:; 1 etl"; strings.Join(got, "; ") != want {
		t.Errorf("findings %s, want %s", strings.Join(got, "; "), want)
	}
	if s := findings[1].String(); !strings.HasPrefix(s, PropMappings+": x:a:b: ") {
		t.Errorf("a finding prints as %q", s)
	}
}

func TestParseAccepts(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		rules    int
	}{
		{Settings{}, 0},
		{Settings{Placements: "user-group, app-name"}, 0},
		{Settings{Format: FormatLegacy, Mappings: " u:ann:a ,, g:dev:b\nu:ann:a,u : bob : c "}, 3},
		{Settings{Format: FormatJSON}, 0},
		{Settings{Format: FormatJSON, JSON: `{"rules":[]} trailing`}, 0},
		{Settings{Format: FormatJSON, JSON: `{}`, JSONFile: "{"}, 0},
		{Settings{Format: FormatJSON, JSONFile: rulesJSON(`"policy":"user","create":null,"fallbackResult":null`)}, 1},
		{Settings{Format: FormatJSON, Mappings: "nonsense"}, 0},
	} {
		r, findings := Parse(c.settings)
		if findings != nil || r.Len() != c.rules {
			t.Errorf("%+v: %v", c.settings, findings)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"root.ops", ""},
		{"ops", ""},
		{"users.ann", ""},
		{"root.users.ann.", ""},
		{"root.managed.new", ""},
		{"root.free.new.deep", ""},
		{"root.users.%user", ""},
		{"%primary_group.nonsense", ""},
		{"root.free.new.%user", ""},
		{"root.managed.new.%user", ""}, // as far as can be told; no application will be placed
		{"root.users. ann", ""},
		{"nowhere", "PLACEMENT_QUEUE_ABSENT"},
		{"nowhere.x", "PLACEMENT_ROOT_ABSENT"},
		{"dev", "PLACEMENT_AMBIGUOUS"},
		{"dev.%user", "PLACEMENT_AMBIGUOUS"},
		{"users", "PLACEMENT_NOT_LEAF"},
		{"root.users.cid", "PLACEMENT_NOT_CREATABLE"},
		{"root.managed.a.b", "PLACEMENT_NOT_CREATABLE"},
		{"root.free.a.b.c", "PLACEMENT_QUEUE_ABSENT"},
		{"root.ops.%user", "PLACEMENT_BELOW_LEAF"},
		{"root.nowhere.%user", "PLACEMENT_NOT_CREATABLE"},
		{"root.free.a.b.%user", "PLACEMENT_NOT_CREATABLE"},
		{"nowhere.%user", "PLACEMENT_ROOT_ABSENT"},
		{"root..%user", "PLACEMENT_EMPTY_PATH"},
		{"root..x", "PLACEMENT_EMPTY_PATH"},
		{".", "PLACEMENT_EMPTY_PATH"},
		{"", "PLACEMENT_EMPTY_PATH"},
	} {
		findings := mustParse(t, true, rulesJSON(fmt.Sprintf(`"policy":"custom","customPlacement":%q`, c.path))).Validate(company())
		got := ""
		if len(findings) > 0 {
			got = string(findings[0].Reason.Code)
			if findings[0].Property != PropJSON || !strings.Contains(findings[0].Text, "custom") || findings[0].Reason.Detail == "" {
				t.Errorf("%q: finding %+v", c.path, findings[0])
			}
		}
		if got != c.want {
			t.Errorf("%q: %q %v, want %q", c.path, got, findings, c.want)
		}
	}
	r := mustParse(t, true, "u:a:nowhere,u:b:root.ops,g:c:users")
	if findings := r.Validate(company()); len(findings) != 2 || findings[0].Rule != 0 || findings[1].Rule != 2 {
		t.Errorf("findings %v", findings)
	}
	if findings := mustParse(t, true, rulesJSON(`"policy":"reject"`, `"policy":"setDefaultQueue","value":"nowhere"`)).Validate(company()); findings != nil {
		t.Errorf("findings about rules without path: %v", findings)
	}
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		override bool
		rules    string
		want     string // rule and code of each finding
	}{
		{false, "u:ann:root.ops,g:dev:root.dev,u:%user:root.users.%user", ""},
		{false, "u:%user:root.users.%user,u:ann:root.ops", "2 UNREACHABLE"},
		{false, "u:ann:root.ops,g:dev:root.dev,u:ann:root.dev", "3 UNREACHABLE"},
		{false, "u:%primary_group:root.ops,u:%primary_group:root.dev", ""},
		{false, "u:*:root.ops", "1 NEVER_MATCHES"},
		{false, "g:%secondary_group:root.ops", "1 NEVER_MATCHES"},
		{false, "u:%user:root.users.%usr", "1 UNKNOWN_VARIABLE"},
		{false, "u:%user:root.users.x_%user", "1 UNKNOWN_VARIABLE"},
		{false, rulesJSON(`"policy":"specified"`, `"policy":"user"`), "1 NEVER_PLACES"},
		{true, rulesJSON(`"policy":"specified"`, `"policy":"user"`), ""},
		{true, rulesJSON(`"policy":"reject"`, `"policy":"user"`, `"policy":"user"`), "2 UNREACHABLE, 3 UNREACHABLE"},
		{true, rulesJSON(`"policy":"user","fallbackResult":"reject"`, `"policy":"user"`), "2 UNREACHABLE"},
		{true, rulesJSON(`"policy":"custom","customPlacement":"root.ops"`, `"policy":"user"`), "2 UNREACHABLE"},
		{true, rulesJSON(`"policy":"custom","customPlacement":"root.managed.new"`, `"policy":"user"`), ""},
		{true, rulesJSON(`"policy":"custom","customPlacement":"root.managed.new","create":false`), "1 NEVER_PLACES"},
		{true, rulesJSON(`"type":"user","matches":" ann","policy":"reject"`), "1 NEVER_MATCHES"},
		{true, rulesJSON(`"policy":"setDefaultQueue","value":"root.ops"`, `"policy":"user"`), "1 NO_EFFECT"},
		{true, rulesJSON(`"policy":"setDefaultQueue","value":"root.ops"`, `"policy":"defaultQueue"`), ""},
		{true, rulesJSON(`"policy":"setDefaultQueue","value":"users"`, `"policy":"user","fallbackResult":"placeDefault"`), "1 NEVER_PLACES"},
		{true, rulesJSON(`"policy":"setDefaultQueue","value":"root.users.%user"`, `"policy":"custom","customPlacement":"%default"`), ""},
		{true, rulesJSON(`"policy":"user","parentqueue":"x","customPlacement":"y","value":"z"`), "1 UNKNOWN_FIELD, 1 UNKNOWN_FIELD, 1 UNKNOWN_FIELD"},
		{true, rulesJSON(`"policy":"reject","parentQueue":"x"`), "1 UNKNOWN_FIELD"},
	} {
		var got []string
		for _, f := range mustParse(t, c.override, c.rules).Lint(company()) {
			got = append(got, fmt.Sprintf("%d %s", f.Rule+1, strings.TrimPrefix(string(f.Reason.Code), "PLACEMENT_")))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", c.rules, strings.Join(got, ", "), c.want)
		}
	}
	r, _ := Parse(Settings{Format: FormatJSON})
	if f := r.Lint(nil); len(f) != 1 || f[0].Reason.Code != NoEffect {
		t.Errorf("json without rules: %v", f)
	}
}

// Whatever the lint calls unreachable must never decide.
func FuzzPlace(f *testing.F) {
	f.Add("u:%user:root.users.%user,g:dev:root.dev", "etl:ops", "", "ann", "dev", "qa", NoQueue, "etl", true)
	f.Add("", "", rulesJSON(`"policy":"setDefaultQueue","value":"root.%user"`, `"policy":"secondaryGroup","fallbackResult":"placeDefault"`), "ann", "dev", "ops", "x", "etl", false)
	f.Fuzz(func(t *testing.T, mappings, apps, text, user, primary, secondary, queue, app string, override bool) {
		s := Settings{Override: override, Mappings: mappings, AppMappings: apps}
		if text != "" {
			s = Settings{Override: override, Format: FormatJSON, JSON: text}
		}
		r, findings := Parse(s)
		if (r == nil) != (len(findings) > 0) {
			t.Fatalf("rules %v with findings %v", r, findings)
		}
		if r == nil {
			return
		}
		queues := company()
		r.Validate(queues)
		p, why := r.Place(Request{User: user, Groups: []string{primary, secondary}, Queue: queue, Application: app}, queues)
		if !why.OK() || !p.Decided() {
			return
		}
		if q, presence := queues.Lookup(p.Queue); p.Create == (presence == Present) || presence == Present && (!q.Leaf || q.Path != p.Queue) {
			t.Fatalf("placed in %+v", p)
		}
		for _, l := range r.Lint(queues) {
			if l.Rule == p.Rule && (l.Reason.Code == Unreachable || l.Reason.Code == NeverPlaces && r.list[l.Rule].fallback != fallbackDefault) {
				t.Fatalf("rule %q decided for %q, but: %v", l.Text, user, l)
			}
		}
	})
}
