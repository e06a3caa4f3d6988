package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

func parse(t testing.TB, text string) *allocation.Allocation {
	t.Helper()
	a, _, err := allocation.Parse([]byte("<allocations>"+text+"</allocations>"), yarn.BasicResourceTypes())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// aborting are the conversion rules that end the conversion for these reasons.
func aborting(t testing.TB, rules ...string) Actions {
	t.Helper()
	a, findings, err := ReadActions(strings.Join(rules, ".action=abort\n") + ".action=abort\n")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	return a
}

func value(list []config.Property, name string) string {
	for _, p := range list {
		if p.Name == config.Prefix+name {
			return p.Value
		}
	}
	return "unset"
}

const policy = "<queuePlacementPolicy>%s</queuePlacementPolicy>"

func TestFindings(t *testing.T) {
	nested := func(parent, attributes, then string) string {
		return fmt.Sprintf(policy, `<rule name="nestedUserQueue" `+attributes+`>`+parent+`</rule>`+then)
	}
	const reject = `<rule name="reject"/>`
	for _, x := range []struct {
		rule, file string
		percent    bool
		text       string
		line       int
		queue      string
	}{
		{"maxResources", `<queue name="a"><maxResources>1 mb, 1 vcores</maxResources></queue>`, false, "Setting <maxResources> is not supported", 1, "root.a"},
		{"maxResources", "\n" + `<queueMaxResourcesDefault>10%</queueMaxResourcesDefault>`, false, "Setting <maxResources> is not supported", 0, "root"},
		{"minResources", "\n" + `<queue name="a"><minResources>vcores=1</minResources></queue>`, false, "Setting <minResources> is not supported", 2, "root.a"},
		{"maxChildCapacity", `<queue name="a"><maxChildResources>1 mb, 1 vcores</maxChildResources><queue name="b"/></queue>`, false, "Setting <maxChildResources> is not supported", 1, "root.a"},
		{"fairAsDrf", `<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy><queue name="a"><schedulingPolicy>fair</schedulingPolicy></queue>`, false,
			"Queue root.a will use DRF policy instead of Fair", 1, "root.a"},
		{"reservationSystem", `<queue name="a"/>`, false, "Conversion of reservation system is not supported", 0, ""},
		{"parentChildCreateDiff", nested(`<rule name="primaryGroup" create="false"/>`, "", reject), false, "the policy PRIMARY_GROUP_USER originally uses", 1, ""},
		{"parentChildCreateDiff", nested(`<rule name="default" create="false"/>`, "", reject), false, "the policy USER originally uses", 1, ""},
		{"parentDynamicCreate", nested(`<rule name="primaryGroup"/>`, "", ""), true, "parent path root.<primaryGroup> - this is not supported", 1, ""},
		{"queueDynamicCreate", fmt.Sprintf(policy, `<rule name="primaryGroup"/>`), true, "enabled for path root.<primaryGroup> - you have to", 1, ""},
		{"childStaticDynamicConflict", `<queue name="a"><queue name="b"/></queue>` + nested(`<rule name="default" queue="a" create="false"/>`, "", reject), true,
			"rule maps to path root.a, but this queue already contains", 1, ""},
	} {
		t.Run(x.rule, func(t *testing.T) {
			s := DefaultSettings()
			s.ReservationSystem = x.rule == "reservationSystem"
			for _, o := range []Options{{Percentages: x.percent}, {Percentages: x.percent, Actions: aborting(t, x.rule)}} {
				_, findings, err := Convert(parse(t, x.file), s, o)
				if err != nil {
					t.Fatal(err)
				}
				want := Warning
				if o.Actions != (Actions{}) {
					want = Abort
				}
				if !slices.ContainsFunc(findings, func(f Finding) bool {
					return f.Severity == want && strings.Contains(f.Text, x.text) && f.Line == x.line && f.Queue == x.queue
				}) {
					t.Errorf("%+v\nwant %d: %q, line %d, %s", findings, want, x.text, x.line, x.queue)
				}
			}
		})
	}
}

// What no conversion rule decides about.
func TestNotes(t *testing.T) {
	for _, x := range []struct{ file, text, queue string }{
		{`<queue name="a"><maxAMShare>0</maxAMShare></queue>`, "<maxAMShare> of 0 is not converted", "root.a"},
		{`<queueMaxAppsDefault>5</queueMaxAppsDefault><queue name="a"><maxRunningApps>2147483647</maxRunningApps></queue>`, "<maxRunningApps> of 2147483647 is not converted", "root.a"},
		{`<queue name="a" type="parent"><schedulingPolicy>fifo</schedulingPolicy></queue>`, "A parent that is fifo is left out", "root.a"},
	} {
		r, findings, err := Convert(parse(t, x.file), DefaultSettings(), Options{Actions: aborting(t, ruleNames[:maxCapacityPercent]...)})
		if err != nil {
			t.Fatal(err)
		}
		if len(findings) != 1 || findings[0].Severity != Warning || !strings.HasPrefix(findings[0].Text, x.text) || findings[0].Queue != x.queue {
			t.Errorf("%s: %+v", x.file, findings)
		}
		if got := value(r.Queues, "root.a.maximum-am-resource-percent") + value(r.Queues, "root.a.max-parallel-apps"); got != "unsetunset" {
			t.Errorf("%s: %s", x.file, got)
		}
	}
	for weights, uneven := range map[[2]string]bool{{"0.75", "0.75"}: true, {"0.5", "0.25"}: true, {"0.5", "1.5"}: false, {"0.1", "2"}: false, {"1", "2"}: false} {
		file := fmt.Sprintf(`<queue name="a"><weight>%s</weight></queue><queue name="b"><weight>%s</weight></queue>`, weights[0], weights[1])
		_, findings, err := Convert(parse(t, file), DefaultSettings(), Options{Percentages: true})
		if err != nil || (len(findings) == 1 && strings.HasPrefix(findings[0].Text, "The percentages below a queue are not in proportion")) != uneven {
			t.Errorf("%v: %v, %+v", weights, err, findings)
		}
	}
	s := DefaultSettings()
	s.NodeThreshold, s.RackThreshold = 0.5, 1
	r, findings, err := Convert(parse(t, ""), s, Options{})
	if err != nil || len(findings) != 2 || !strings.Contains(findings[1].Text, "rack-locality-additional-delay = 1.0 should be a number of missed opportunities") {
		t.Errorf("%v, %+v", err, findings)
	}
	if got := value(r.Site, "node-locality-delay"); got != "0.5" {
		t.Errorf("node-locality-delay = %s", got)
	}
}

func TestNoConversion(t *testing.T) {
	limit, _, err := ReadActions("maxChildQueue.limit=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		file, text string
		line       int
	}{
		{"\n" + `<queue name="a"><queue name="b"/><queue name="c"/></queue>`, "Queue root.a has too many children: 2", 2},
		{`<queue name="a,b"/>`, "Queue root.a,b has a comma in its name", 1},
		{"\n\n" + fmt.Sprintf(policy, `<rule name="nestedUserQueue"><rule name="specified"/></rule><rule name="reject"/>`), "Unsupported parent nested rule: specified", 3},
	} {
		r, _, err := Convert(parse(t, x.file), DefaultSettings(), Options{Actions: limit})
		var e *Error
		if !errors.As(err, &e) || r != nil || !strings.HasPrefix(e.Text, x.text) || e.Line != x.line {
			t.Errorf("%s: %v, %+v", x.file, r, err)
		}
	}
	if _, _, err := Convert(parse(t, `<queue name="a"/>`+fmt.Sprintf(policy, `<rule name="nestedUserQueue"><rule name="specified"/></rule><rule name="reject"/>`)), DefaultSettings(),
		Options{SkipRules: true}); err != nil {
		t.Error(err)
	}
}

func TestPercentages(t *testing.T) {
	for want, weights := range map[string]string{
		"25.000 75.000":           "1 3",
		"33.334 33.333 33.333":    "1 1 1",
		"100.000":                 "0",
		"0.000 0.000":             "0 0",
		"0.000 0.000 ":            "0.5 0.25",    // the sum is cut to 0
		"25.000 37.500 37.500":    "1.5 1.5 1.5", // the first of the largest gives what is too much
		"2.083 97.917":            "0.0625 3",
		"4.762 95.238":            "0.1 2", // more decimals than Apache's command can count
		"27.273 27.273 45.454":    "0.3 0.3 0.5",
		"-50.000 150.000":         "-1 3",
		"50.000 50.000":           "3e38 3e38",
		"0.000 100.000":           "1 799999",
		"0.000 100.000 0.000":     "1 4000000000 1",
		"20.000 40.000 20.000 20": "1 2 1 1",
	} {
		var file strings.Builder
		for i, w := range strings.Fields(weights) {
			fmt.Fprintf(&file, `<queue name="q%d"><weight>%s</weight></queue>`, i, w)
		}
		r, _, err := Convert(parse(t, file.String()), DefaultSettings(), Options{Percentages: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range strings.Fields(weights) {
			got = append(got, value(r.Queues, fmt.Sprintf("root.q%d.capacity", i)))
		}
		wanted := strings.Fields(want)
		for i := range wanted {
			if !strings.Contains(wanted[i], ".") {
				wanted[i] += ".000"
			}
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: %v, want %v", weights, got, wanted)
		}
		if zero := value(r.Queues, "root.allow-zero-capacity-sum"); (zero == "true") != (strings.Trim(strings.Join(got, ""), "0.") == "") {
			t.Errorf("%s: allow-zero-capacity-sum is %s", weights, zero)
		}
	}
}

func TestReadActions(t *testing.T) {
	for _, x := range []struct {
		text    string
		aborts  []Rule
		limit   int // -1 for none
		said    string
		refused bool
	}{
		{text: "", limit: -1},
		{text: "# maxResources.action=abort\n! x\n\n  maxResources.action : ab\\\n   ort", aborts: []Rule{MaxResources}, limit: -1},
		{text: "maxResources.action abort\r\nfairAsDrf.action=ABORT", aborts: []Rule{MaxResources, FairAsDRF}, limit: -1},
		{text: `m\u0061xResources.action=\u0061bort`, aborts: []Rule{MaxResources}, limit: -1},
		{text: `a\=b=c`, limit: -1, said: "1: There is no rule a=b"},
		{text: "maxResources.action=abort \n", limit: -1, said: "1: Unknown action abort  set for rule maxResources.action, defaulting to WARNING"},
		{text: "maxResources.action=abort\nmaxResources.action=warning", limit: -1},
		{text: "\nqueueAutoCreate.action=Warning", limit: -1, said: "2: Rule queueAutoCreate.action has no effect"},
		{text: "maxResource.action=abort", limit: -1, said: "1: There is no rule maxResource.action"},
		{text: "maxResources=abort", limit: -1, said: "1: There is no rule maxResources"},
		{text: "maxChildQueue.limit=3", limit: 3},
		{text: "maxChildQueue.limit=3 ", refused: true},
		{text: "maxChildQueue.limit=+3", refused: true},
		{text: "maxChildQueue.limit=", refused: true},
		{text: "maxChildQueue.limit=99999999999", refused: true},
		{text: `maxResources.action=\u00`, limit: -1, said: "1: Unknown action u00 set for rule maxResources.action, defaulting to WARNING"},
		{text: `\`, limit: -1, said: "1: There is no rule "},
	} {
		a, findings, err := ReadActions(x.text)
		if (err != nil) != x.refused {
			t.Errorf("%q: %v", x.text, err)
			continue
		}
		if x.refused {
			continue
		}
		want := Actions{}
		for _, r := range x.aborts {
			want.abort[r] = true
		}
		limit, said := -1, ""
		if a.maxChildren != nil {
			limit = *a.maxChildren
		}
		for _, f := range findings {
			said += fmt.Sprintf("%d: %s", f.Line, f.Text)
		}
		if a.abort != want.abort || limit != x.limit || said != x.said {
			t.Errorf("%q: %+v, limit %d, said %q", x.text, a.abort, limit, said)
		}
	}
}
