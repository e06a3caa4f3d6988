package schedtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// site is a scenario that somebody changes as gates suggest.
type site struct {
	*testing.T
	*runner
	head  string // the last command queues
	first string // and the first one
}

func (s *site) play(command string) {
	s.Helper()
	if strings.HasPrefix(command, "queues") {
		if s.head = command; s.first == "" {
			s.first = command
		}
	}
	for _, line := range s.run(command) {
		if strings.HasPrefix(line, "error") || strings.HasPrefix(command, "ask") || strings.HasPrefix(command, "move") || strings.HasPrefix(command, "queues") && !strings.HasPrefix(line, "note") {
			s.Fatalf("%s: %s", command, line)
		}
	}
}

// TestChangesThatGatesName makes the change that is named for a gate, as it is named. Then the application that waits there starts at the next opportunity.
func TestChangesThatGatesName(t *testing.T) {
	for _, c := range gateCases {
		t.Run(c.name, func(t *testing.T) {
			s := &site{T: t, runner: &runner{apps: map[string]*runApp{}, nodes: map[string]scheduler.NodeRef{}}}
			for _, command := range strings.Split(c.setup, "\n\n") {
				s.play(strings.TrimSpace(command))
			}
			if c.then != nil {
				c.then(s.runner)
			}
			a := s.apps[c.app]
			reasons := s.s.Explain(a.ref, 100)
			at := slices.IndexFunc(reasons, func(why yarn.Reason) bool { return why.Code == c.code })
			if at < 0 {
				t.Fatalf("it waits because of %+v", reasons)
			}
			for _, why := range reasons {
				if r := s.s.Remedy(a.ref, why); !r.Any() {
					t.Errorf("nothing helps against %+v", why)
				}
			}
			before := s.s.AppUsage(a.ref).Live
			r := s.s.Remedy(a.ref, reasons[at])
			if said := s.follow(a, &r); said != c.want {
				t.Errorf("the change is %q, want %q; the reason %+v", said, c.want, reasons[at])
			}
			s.opportunity(&r)
			if s.s.AppUsage(a.ref).Live <= before {
				t.Errorf("after %+v it still waits because of %+v", r, s.s.Explain(a.ref, 100))
			}
			if bad := s.s.Check(); bad != "" {
				t.Error(bad)
			}
		})
	}
}

// TestEveryGateHasACase: each code of package fit for what waits has a case, or stands in elsewhere.
func TestEveryGateHasACase(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../fit/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Doc == nil || !strings.Contains(block.Doc.Text(), "something waits") {
			continue
		}
		for _, s := range block.Specs {
			text, _ := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			code := yarn.Code(text)
			found++
			if has := slices.ContainsFunc(gateCases, func(c gateCase) bool { return c.code == code }); has == (elsewhere[code] != "") {
				t.Errorf("%s: there is a case: %v; elsewhere: %q", code, has, elsewhere[code])
			}
		}
	}
	if found < 30 {
		t.Errorf("%d codes", found)
	}
}

// secondAttempt starts a second attempt of application x.
func secondAttempt(r *runner) {
	a := r.apps["x"]
	r.s.EndAttempt(a.ref, false)
	r.attempt(a, false)
}

// opportunity offers each node once, or as often as is to be waited.
func (s *site) opportunity(r *scheduler.Remedy) {
	s.clock += 1000
	s.s.Recompute(s.now())
	rounds := int64(1)
	if r.Act.Do == core.Offers {
		rounds = r.Act.Count
	}
	names := make([]string, 0, len(s.nodes))
	for name := range s.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	for range rounds {
		for _, name := range names {
			s.run("beat " + name)
		}
	}
}

// follow carries a remedy out, and says what it was.
func (s *site) follow(a *runApp, r *scheduler.Remedy) string {
	s.Helper()
	if len(r.Settings) > 0 {
		return s.set(r.Settings)
	}
	x := &r.Act
	said := strings.TrimSpace(string(x.Do) + " " + x.Subject)
	switch x.Do {
	case "":
		return s.free(r)
	case core.EndApp, core.RaiseApp:
		for name, o := range s.apps {
			if o.id.String() != x.Subject {
				continue
			}
			said = string(x.Do) + " " + name
			if x.Do == core.EndApp {
				s.play("end " + name)
			} else {
				s.s.SetPriority(a.ref, int32(x.Count))
			}
		}
	case core.LabelNode:
		s.s.SetNodeLabel(s.named(x.Subject), x.Label)
	case core.AddNode:
		s.nodes["new"] = s.s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: "new", Port: 1}, Label: x.Label, Total: x.Size})
	case core.ResizeNode:
		s.s.SetNodeTotal(s.named(x.Subject), x.Size)
	case core.UseNode:
		s.s.SetNodeAccepting(s.named(x.Subject), true)
	case core.Refresh:
		s.play(s.head)
	case core.Restore:
		s.play(s.first)
		s.play("move " + a.name + " " + x.Subject)
	case core.MoveApp:
		s.play("move " + a.name + " " + x.Subject)
	case core.Relax:
		s.play("ask " + a.name + " 0 1024x1")
		s.play("ask " + a.name + " 1 1024x1")
	case core.Unavoid:
		host, _, _ := strings.Cut(x.Subject, ":")
		s.s.Blacklist(a.ref, nil, []string{host})
	case core.Earlier:
		s.play("ask " + a.name + " 0 1024x1")
	case core.Others:
		for name, o := range s.apps {
			if s.s.LeafOf(o.ref) == x.Subject {
				s.play("ask " + name + " 0 7168x1")
			}
		}
	case core.Offers, core.Update:
	default:
		s.Fatalf("nobody can %+v", x)
	}
	return said
}

func (s *site) named(id string) scheduler.NodeRef {
	host, _, _ := strings.Cut(id, ":")
	return s.nodes[host]
}

// free ends those who have what has to become free, the one with the most first, until that is enough.
func (s *site) free(r *scheduler.Remedy) string {
	left := r.Free
	for _, h := range r.Holders {
		for name, o := range s.apps {
			if o.id == h.App && left[yarn.Memory] > 0 {
				left[yarn.Memory] -= h.Has[yarn.Memory]
				s.play("end " + name)
			}
		}
	}
	if left[yarn.Memory] > 0 {
		s.Errorf("the holders have not %v: %+v", r.Free, r.Holders)
	}
	return "free " + strings.TrimSuffix(s.size(yarn.Resource{r.Free[0]}), "x0")
}

// set changes the configuration.
func (s *site) set(list []scheduler.Setting) string {
	s.Helper()
	var said []string
	text := s.head
	for _, x := range list {
		name := strings.TrimPrefix(x.Name, config.Prefix)
		if x.Element == "" {
			said = append(said, name+"="+x.Value)
			text = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`=.*\n?`).ReplaceAllString(text, "")
			text = strings.TrimRight(text, "\n") + "\n" + name + "=" + x.Value
			continue
		}
		said = append(said, name+" of "+x.Element+"="+x.Value)
		kind, path, _ := strings.Cut(x.Element, " ")
		element := `<` + kind + ` name="` + path[strings.LastIndex(path, ".")+1:] + `">`
		text = regexp.MustCompile(regexp.QuoteMeta(element)+`(<`+name+`>[^<]*</`+name+`>)?`).ReplaceAllString(text, element+"<"+name+">"+x.Value+"</"+name+">")
	}
	s.play(text)
	return strings.Join(said, " and ")
}

// elsewhere are the codes of which no case is here, and why not.
var elsewhere = map[yarn.Code]string{
	fit.NothingAsked:    "it waits for nothing",
	fit.NothingFree:     "of headrooms",
	fit.PreemptionWaits: "resourcemanager/engine TestPreemptionIsAGate",
	fit.NoNodeQueue:     "of opportunistic containers: resourcemanager/engine TestChangesThatGatesOfTheEngineName",
	fit.NodeQueuesFull:  "likewise",
	fit.NextCall:        "likewise",
	fit.GangGathers:     "of gangs, likewise",
	fit.GangSmall:       "likewise",
	fit.GangRests:       "likewise",
	fit.GangInLine:      "likewise",
	fit.GangNever:       "likewise",
}
