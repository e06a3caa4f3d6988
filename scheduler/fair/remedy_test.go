package fair_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
)

// TestRemediesHelp makes, on random clusters, the change that is named for the reason of somebody who waits. Then that reason must be gone.
func TestRemediesHelp(t *testing.T) {
	helped := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(10, 30).Draw(t, "steps") {
			p.step([]func(){p.submit, p.ask, p.update, p.offer, p.offer, p.ask, p.update, p.offer, p.finish, p.vacate, p.drain, p.avoid})
		}
		from, gate := rapid.IntRange(0, max(0, len(p.apps)-1)).Draw(t, "first app"), rapid.IntRange(0, 5).Draw(t, "first gate")
		for i := range p.apps {
			if a := p.apps[(from+i)%len(p.apps)]; p.waits(a) && p.remedied(a, gate, helped) {
				return
			}
		}
	})
	t.Log(helped)
	for _, what := range []string{string(fit.QueueLimit) + " settings", string(fit.RunningApps) + " settings", string(fit.AMLimit) + " settings", string(fit.NodeUnavailable) + " " + string(core.UseNode)} {
		if helped[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody was helped by %s", what)
		}
	}
}

// remedied makes the change for one of the reasons for which an application waits, if there is one that can be made here.
func (p *play) remedied(a *app, from int, helped map[string]int) bool {
	reasons := p.s.Explain(a.ref, len(p.nodes))
	for i := range reasons {
		why := reasons[(i+from)%len(reasons)]
		r := p.s.Remedy(a.ref, why)
		how := p.follow(&r)
		if how == "" {
			continue
		}
		helped[string(why.Code)+" "+how]++
		for _, still := range p.s.Explain(a.ref, len(p.nodes)) {
			if still.Code == why.Code && still.Subject == why.Subject && still.Detail == why.Detail {
				p.fail("%v waits because of %+v; after %+v it still does, because of %+v", a.twin.ID, why, r, still)
			}
		}
		return true
	}
	return false
}

// follow carries out a remedy, and says what it did; "" is nothing.
func (p *play) follow(r *scheduler.Remedy) string {
	if len(r.Settings) > 0 {
		if !p.set(r.Settings) {
			return ""
		}
		return "settings"
	}
	switch r.Act.Do {
	case core.UseNode, core.ResizeNode:
		i := slices.IndexFunc(p.nodes, func(n *node) bool { return n.twin.ID.String() == r.Act.Subject })
		if i < 0 {
			return ""
		}
		if r.Act.Do == core.UseNode {
			p.s.SetNodeAccepting(p.nodes[i].ref, true)
		} else {
			p.s.SetNodeTotal(p.nodes[i].ref, r.Act.Size)
		}
		return string(r.Act.Do)
	case core.EndApp:
		for _, o := range p.apps {
			if o.twin.ID.String() == r.Act.Subject {
				p.drop(o)
				return string(r.Act.Do)
			}
		}
	case core.Update:
		p.s.Recompute(p.now())
		return string(r.Act.Do)
	}
	return ""
}

// set changes the allocation file that is in force; false: what is to be changed does not stand in it.
func (p *play) set(list []scheduler.Setting) bool {
	text := p.sc.file
	for _, x := range list {
		kind, path, _ := strings.Cut(x.Element, " ")
		element := "<" + x.Name + ">" + x.Value + "</" + x.Name + ">"
		if kind == "user" {
			one := regexp.MustCompile(`(?s)<user name="` + regexp.QuoteMeta(path) + `">.*?</user>`)
			text = strings.Replace(one.ReplaceAllString(text, ""), "</allocations>", `<user name="`+path+`">`+element+"</user></allocations>", 1)
			continue
		}
		var ok bool
		if text, ok = setIn(text, path, x.Name, element); !ok {
			return false
		}
	}
	cfg, _, err := config.Parse(p.sc.props, p.sc.cluster(text))
	if err == nil {
		err = p.s.Refresh(cfg, nil)
	}
	if err != nil {
		p.fail("%v: %v\n%s", list, err, text)
	}
	p.s.Recompute(p.now())
	return true
}

// setIn puts an element into that of a queue, in place of one of the same name.
func setIn(text, path, name, element string) (string, bool) {
	var out, at []string
	found := false
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.Join(at, ".") == path && strings.HasPrefix(trimmed, "<"+name+">") {
			continue
		}
		out = append(out, line)
		switch {
		case strings.HasPrefix(trimmed, "<queue ") && strings.HasSuffix(trimmed, "/>"):
		case strings.HasPrefix(trimmed, "<queue "):
			at = append(at, regexp.MustCompile(`name="([^"]*)"`).FindStringSubmatch(trimmed)[1])
			if strings.Join(at, ".") == path {
				out, found = append(out, element), true
			}
		case trimmed == "</queue>":
			at = at[:len(at)-1]
		}
	}
	return strings.Join(out, "\n"), found
}
