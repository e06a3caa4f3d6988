package allocation

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/spelling"
	"github.com/heddle-project/heddle/yarn"
)

// Parse reads a file for a cluster with these resource types. The error is Errors: everything that is wrong, up to a
// bound, and then there is no allocation. Findings are what is accepted but odd, also of a file that is refused; both are
// in the order of the file's lines.
func Parse(data []byte, types yarn.ResourceTypes) (*Allocation, []Finding, error) {
	return parse(data, types, false)
}

// ParseLoosely is Parse that only warns of placement rules behind one that always decides, as files had them before
// Hadoop refused them (YARN-8967).
func ParseLoosely(data []byte, types yarn.ResourceTypes) (*Allocation, []Finding, error) {
	return parse(data, types, true)
}

func parse(data []byte, types yarn.ResourceTypes, loosely bool) (*Allocation, []Finding, error) {
	root, f := read(data)
	if f != nil {
		return nil, nil, Errors{f.bounded()}
	}
	p := &parser{types: types, loosely: loosely, top: settings{}, users: map[string]int32{}, userAt: settings{}, root: newDraft("root", "root")}
	p.defaults = Defaults{QueueMaxApps: noAppLimit, QueueMaxAMShare: 0.5, QueueMax: Limit{Amount: Unbounded(types)}, UserMaxApps: noAppLimit}
	p.minTimeout, p.fairTimeout, p.threshold = Never, Never, 0.5
	if root.name == Root {
		p.allocations(root)
	} else {
		p.refuse(root, "", "the root element is <"+root.name+">, not <"+Root+">", "put all of it into <"+Root+">")
	}
	if len(p.errors) > 0 {
		inOrder(p.errors)
		return nil, inOrder(p.findings), p.errors
	}
	a := &Allocation{Root: p.root.queue, Defaults: p.defaults, Users: p.users, Rules: p.rules, Reservation: p.reservation}
	a.list()
	return a, inOrder(p.findings), nil
}

func inOrder(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return list
}

// parser gathers what a file says.
type parser struct {
	types    yarn.ResourceTypes
	loosely  bool // rules that are never reached are accepted
	errors   Errors
	findings []Finding
	stopped  bool // there are so many errors that nothing more is read

	top         settings
	defaults    Defaults
	minTimeout  int64 // of root, and so of all that have none
	fairTimeout int64
	threshold   float32
	users       map[string]int32
	userAt      settings // where the number of each stands
	reservation Reservation
	rules       []PlacementRule
	root        *draft
	queues      int
}

// settings are the elements that were read of those that count once, by name.
type settings map[string]*element

// once notes that an element takes the place of an earlier one.
func (p *parser) once(s settings, name string, e *element, key string) {
	if earlier := s[name]; earlier != nil {
		p.say(Warning, Repeated, earlier, key, javaTrim(earlier.text), fmt.Sprintf("line %d has it again, and the last one counts", e.line), "write it once")
	}
	s[name] = e
}

func (p *parser) refuse(e *element, key, what, fix string) {
	p.refuseCode(Refused, e, key, "", false, what, fix)
}

func (p *parser) refuseValue(e *element, key, value, what, fix string) {
	p.refuseCode(Refused, e, key, value, true, what, fix)
}

func (p *parser) refuseCode(code string, e *element, key, value string, set bool, what, fix string) {
	if p.stopped {
		return
	}
	if p.stopped = len(p.errors) == maxErrors; p.stopped {
		code, key, value, set, what, fix = TooMany, "", "", false, fmt.Sprintf("there are more than %d errors, the rest is not read", maxErrors), "correct those"
	}
	p.errors = append(p.errors, Finding{Error, code, e.line, e.column, key, value, set, what, fix}.bounded())
}

// say adds a finding about an element with a value, tell about one without.
func (p *parser) say(s Severity, code string, e *element, key, value, what, fix string) {
	p.add(Finding{s, code, e.line, e.column, key, value, true, what, fix})
}

func (p *parser) tell(s Severity, code string, e *element, key, what, fix string) {
	p.add(Finding{s, code, e.line, e.column, key, "", false, what, fix})
}

func (p *parser) add(f Finding) {
	if len(p.findings) < maxFindings {
		p.findings = append(p.findings, f.bounded())
	}
}

// The elements of <allocations>, and their old names.
var topNames = []string{
	"queue", "pool", "user", "userMaxAppsDefault", "queueMaxAppsDefault", "queueMaxResourcesDefault", "queueMaxAMShareDefault",
	"defaultFairSharePreemptionTimeout", "fairSharePreemptionTimeout", "defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionThreshold",
	"defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode", "reservation-planner", "reservation-agent", "reservation-policy", "queuePlacementPolicy",
}

func (p *parser) allocations(root *element) {
	p.attributes(root, Root)
	p.strayText(root, Root)
	var queues, explicit []*element
	for _, e := range root.children {
		switch {
		case e.name == "queue" || e.name == "pool":
			queues = append(queues, e)
			if strings.EqualFold(queueName(e), "root") {
				explicit = append(explicit, e)
			}
		case e.name == "user":
			p.user(e)
		default:
			p.topElement(e)
		}
	}
	if len(explicit) > 0 && len(queues) > 1 {
		other := queues[slices.IndexFunc(queues, func(e *element) bool { return e != explicit[0] })]
		p.refuse(other, "", fmt.Sprintf("there is a queue beside root, which is in line %d", explicit[0].line),
			"put all queues into root, or write none of them into root")
		return
	}
	for _, e := range queues {
		if len(explicit) > 0 {
			p.explicitRoot(e)
		} else {
			p.child(p.root, e)
		}
	}
	p.finish()
}

func (p *parser) topElement(e *element) {
	once := func(name string) string { p.once(p.top, name, e, e.name); return e.name }
	switch e.name {
	case "userMaxAppsDefault":
		p.apps(e, once(e.name), &p.defaults.UserMaxApps)
	case "queueMaxAppsDefault":
		p.apps(e, once(e.name), &p.defaults.QueueMaxApps)
	case "queueMaxResourcesDefault":
		p.maximum(e, once(e.name), &p.defaults.QueueMax)
	case "queueMaxAMShareDefault":
		p.masters(e, once(e.name), &p.defaults.QueueMaxAMShare)
	case "defaultFairSharePreemptionTimeout":
		p.seconds(e, once(e.name), &p.fairTimeout)
	case "fairSharePreemptionTimeout":
		p.oldTimeout(e, once(e.name))
	case "defaultMinSharePreemptionTimeout":
		p.seconds(e, once(e.name), &p.minTimeout)
	case "defaultFairSharePreemptionThreshold":
		p.fraction(e, once(e.name), &p.threshold)
	case "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode":
		once("defaultQueueSchedulingPolicy")
		if p.policy(e, e.name, &p.defaults.Policy); p.defaults.Policy == FIFO {
			p.refuseValue(e, e.name, javaTrim(e.text), "fifo cannot be the policy of all queues, because parents cannot have it",
				"write fair or drf, and <schedulingPolicy>fifo</schedulingPolicy> in leaves")
			p.defaults.Policy = Fair
		}
	case "reservation-planner":
		p.word(e, once(e.name), &p.reservation.Planner)
	case "reservation-agent":
		p.word(e, once(e.name), &p.reservation.Agent)
	case "reservation-policy":
		p.word(e, once(e.name), &p.reservation.Policy)
	case "queuePlacementPolicy":
		p.placement(e, once(e.name))
	default:
		p.unknownElement(e, "", topNames, queueNames, "belongs into a <queue>")
	}
}

// oldTimeout is the old name of defaultFairSharePreemptionTimeout, which counts wherever it stands: what comes later is
// written over.
func (p *parser) oldTimeout(e *element, key string) {
	var ms int64
	if p.seconds(e, key, &ms) && p.top["defaultFairSharePreemptionTimeout"] == nil {
		p.fairTimeout = ms
	}
}

func (p *parser) user(e *element) {
	name, given := e.attr("name")
	p.attributes(e, "user", "name")
	p.strayText(e, "user")
	key := "user " + name
	seen := settings{}
	for _, c := range e.children {
		if c.name != "maxRunningApps" {
			p.unknownElement(c, key, []string{"maxRunningApps"}, nil, "")
			continue
		}
		p.once(seen, c.name, c, key+"/"+c.name)
		var n int32
		if !p.apps(c, key+"/"+c.name, &n) {
			continue
		}
		if earlier := p.userAt[name]; earlier != nil && earlier != e {
			p.tell(Warning, Repeated, earlier, key, fmt.Sprintf("line %d has the user again, and the last one counts", e.line), "write each user once")
		}
		p.users[name], p.userAt[name] = n, e
	}
	switch {
	case !given || name == "":
		p.tell(Warning, NoEffect, e, "user", "there is no name, so that it is for nobody", `write <user name="...">`)
	case javaTrim(name) != name:
		p.say(Warning, NoEffect, e, "user", name, "there are spaces around the name, which no user has", "remove them")
	case seen["maxRunningApps"] == nil:
		p.tell(Warning, NoEffect, e, key, "it has no maxRunningApps, so that it says nothing", "write one, or remove the user")
	}
}

// unknownElement is one that nothing reads; elsewhere are names that are read in another place.
func (p *parser) unknownElement(e *element, parent string, known, elsewhere []string, where string) {
	if len(p.findings) == maxFindings {
		return // looking for similar names takes time
	}
	key := strings.TrimPrefix(parent+"/"+e.name, "/")
	if slices.Contains(elsewhere, e.name) {
		p.tell(Warning, NoEffect, e, key, "it is not read here, so it has no effect: it "+where, "move it")
		return
	}
	fix := "remove it"
	if near := spelling.Nearest(e.name, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	p.tell(Warning, UnknownKey, e, key, "nothing reads this element, so it has no effect", fix)
}

// attributes warns of those that nothing reads.
func (p *parser) attributes(e *element, key string, known ...string) {
	for _, a := range e.attrs {
		if len(p.findings) == maxFindings {
			return
		}
		if a.Name.Space != "" || a.Name.Local == "xmlns" || slices.Contains(known, a.Name.Local) {
			continue
		}
		fix := "remove it"
		if near := spelling.Nearest(a.Name.Local, known); near != "" {
			fix = "did you mean " + near + "?"
		} else if slices.Contains(queueNames, a.Name.Local) {
			fix = "write it as an element: <" + a.Name.Local + ">...</" + a.Name.Local + ">"
		}
		p.say(Warning, UnknownKey, e, key+"@"+a.Name.Local, a.Value, "nothing reads this attribute, so it has no effect", fix)
	}
}

// strayText warns of text between elements.
func (p *parser) strayText(e *element, key string) {
	if text := javaTrim(e.text); text != "" {
		p.say(Warning, NoEffect, e, key, text, "text between elements has no effect", "remove it, or put it into an element")
	}
}

// value is the text of an element that must have one, without the spaces around it.
func (p *parser) value(e *element, key string) (string, bool) {
	p.attributes(e, key)
	text := javaTrim(e.text)
	switch {
	case text == "" && len(e.children) > 0:
		p.refuse(e, key, "it has <"+e.children[0].name+"> where a value belongs", "write a value, or remove it")
		return "", false
	case text == "":
		p.refuse(e, key, "it is empty", "write a value, or remove it")
		return "", false
	}
	for _, c := range e.children {
		p.tell(Warning, NoEffect, c, key+"/"+c.name, "an element within a value has no effect", "remove it")
	}
	return text, true
}

func (p *parser) word(e *element, key string, into *string) bool {
	text, ok := p.value(e, key)
	if ok {
		*into = text
	}
	return ok
}

// apps reads a number of applications.
func (p *parser) apps(e *element, key string, into *int32) bool {
	text, ok := p.value(e, key)
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		p.refuseValue(e, key, text, fmt.Sprintf("it is not a whole number up to %d", math.MaxInt32), "write how many applications may run at once")
		return false
	}
	if n <= 0 {
		p.say(Warning, TakesNothing, e, key, text, "no application ever runs", "write at least 1, or remove it")
	}
	*into = int32(n)
	return true
}

// decimal is what is read as a number with a fraction. compat: Java's suffixes are taken; its hexadecimal numbers, NaN
// and Infinity are not.
var decimal = regexp.MustCompile(`^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?$`)

// number reads a number with a fraction, in the precision of a float32 if narrow.
func (p *parser) number(e *element, key string, narrow bool) (text string, v float32, ok bool) {
	if text, ok = p.value(e, key); !ok {
		return text, 0, false
	}
	m := decimal.FindStringSubmatch(text)
	if m == nil {
		p.refuseValue(e, key, text, "it is not a number", "write a number such as 0.5")
		return text, 0, false
	}
	bits := 64
	if narrow {
		bits = 32
	}
	f, err := strconv.ParseFloat(m[1], bits)
	if v = float32(f); err != nil || math.IsInf(float64(v), 0) {
		p.refuseValue(e, key, text, "the number is too large", "write a smaller one")
		return text, 0, false
	}
	return text, v, true
}

// masters reads a share of masters: at most 1, or NoAMLimit.
func (p *parser) masters(e *element, key string, into *float32) {
	text, v, ok := p.number(e, key, true)
	switch {
	case !ok:
		return
	case v > 1:
		p.say(Warning, UnitTrap, e, key, text, "it is a fraction, and more than 1 counts as 1: masters may use everything", "write 0.5 for half, or -1 for no limit")
	case v < 0 && math.Abs(float64(v+1)) >= 0.0001:
		p.say(Warning, TakesNothing, e, key, text, "masters may use less than nothing, so that no application starts", "write a number from 0 to 1, or -1 for no limit")
	case v == 0:
		p.say(Warning, TakesNothing, e, key, text, "masters may use nothing, so that no application starts", "write a number up to 1, or -1 for no limit")
	}
	*into = min(v, 1)
}

// fraction reads a threshold from 0 to 1.
func (p *parser) fraction(e *element, key string, into *float32) {
	text, v, ok := p.number(e, key, true)
	if !ok {
		return
	}
	if *into = min(max(v, 0), 1); *into != v {
		p.say(Warning, UnitTrap, e, key, text, fmt.Sprintf("it is a fraction from 0 to 1: it counts as %g", *into), "write 0.5 for half")
	}
}

// longTimeout is how many seconds look like milliseconds.
const longTimeout = 5 * 3600

// seconds reads a timeout into milliseconds.
func (p *parser) seconds(e *element, key string, into *int64) bool {
	text, ok := p.value(e, key)
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		p.refuseValue(e, key, text, "it is not a whole number", "write seconds")
		return false
	case n < 0:
		p.say(Warning, UnitTrap, e, key, text, "less than 0 seconds count as none", "write how many seconds to wait, or remove it to wait for ever")
	case n >= longTimeout && n < math.MaxInt64/1000:
		p.say(Warning, UnitTrap, e, key, text, fmt.Sprintf("it is in seconds: %d hours", n/3600), "write seconds, not milliseconds")
	}
	// More than there are milliseconds is never.
	if *into = max(n, 0) * 1000; n >= math.MaxInt64/1000 {
		*into = Never
	}
	return true
}

// policies are the policies by their names and by those of Apache's classes.
var policies = []struct {
	name, class string
	policy      Policy
}{{"fair", "FairSharePolicy", Fair}, {"drf", "DominantResourceFairnessPolicy", DRF}, {"fifo", "FifoPolicy", FIFO}}

const policyPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies."

func (p *parser) policy(e *element, key string, into *Policy) {
	text, ok := p.value(e, key)
	if !ok {
		return
	}
	for _, known := range policies {
		if strings.EqualFold(text, known.name) || text == policyPackage+known.class {
			*into = known.policy
			return
		}
	}
	what := "there is no such policy"
	if strings.Contains(text, ".") {
		what = "policies of Java classes cannot be run"
	}
	p.refuseValue(e, key, text, what, "write fair, drf or fifo")
}

// flag reads true or false in any case. compat: whatever is not true is false.
func (p *parser) flag(e *element, key string, into *bool) {
	text, ok := p.value(e, key)
	if !ok {
		return
	}
	*into = strings.EqualFold(text, "true")
	if !*into && !strings.EqualFold(text, "false") {
		p.say(Warning, NotAFlag, e, key, text, "it is neither true nor false, and counts as false", "write true or false")
	}
}

// resource reads an amount in which types that are not named are as missing.
func (p *parser) resource(e *element, key string, missing yarn.Resource) (Limit, bool) {
	text, ok := p.value(e, key)
	if !ok {
		return Limit{}, false
	}
	if len(text) > maxResource {
		p.refuseValue(e, key, text, fmt.Sprintf("the text has more than %d bytes", maxResource), resourceForms)
		return Limit{}, false
	}
	a := amount{types: p.types, missing: missing}
	l, err := a.parse(text)
	if err != nil {
		r := err.(refusal) //nolint:errorlint // parse wraps nothing
		p.refuseValue(e, key, text, r.what, r.fix)
		return Limit{}, false
	}
	for _, n := range a.notes {
		p.say(Warning, n.code, e, key, text, n.what, n.fix)
	}
	return l, true
}

func (p *parser) maximum(e *element, key string, into *Limit) bool {
	l, ok := p.resource(e, key, Unbounded(p.types))
	if !ok {
		return false
	}
	for i, t := range p.types[:2] {
		if l.OfCluster && l.Fractions[i] == 0 || !l.OfCluster && l.Amount[i] == 0 {
			p.say(Warning, TakesNothing, e, key, javaTrim(e.text), "it allows no "+t.Name+", so that nothing runs", "write more than 0")
		}
	}
	*into = l
	return true
}
