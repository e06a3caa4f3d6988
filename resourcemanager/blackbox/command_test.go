package blackbox

import (
	"bytes"
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Every command of the engine can be recorded.
func TestEveryCommandIsKept(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../engine/command.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"RefreshQueues": true, "Remember": true} // as others, see kept
	for _, k := range kinds {
		known[k.Name()] = true
	}
	found := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "command" {
			continue
		}
		found++
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if name := of.(*ast.Ident).Name; !known[name] {
			t.Errorf("%s is not kept", name)
		}
	}
	if found < 30 {
		t.Errorf("only %d commands were found", found)
	}
}

// fillIn sets a value and all that is in it at random; lists get up to three elements.
func fillIn(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Slice:
		if n := r.Intn(5) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fillIn(v.Index(i), r)
		}
	case reflect.Array:
		for i := range r.Intn(v.Len() + 1) {
			fillIn(v.Index(i), r)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.Intn(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillIn(key, r)
			fillIn(value, r)
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		if r.Intn(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillIn(v.Elem(), r)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(v.Field(i), r)
		}
		if a, ok := v.Interface().(engine.RecoveredApplication); ok { // which always has both
			a.Submission, a.Record = cmp.Or(a.Submission, &engine.Submission{}), cmp.Or(a.Record, &state.Application{})
			v.Set(reflect.ValueOf(a))
		}
	case reflect.Interface:
		if r.Intn(2) == 0 {
			v.Set(reflect.ValueOf(errors.New("no room")))
		}
	case reflect.String:
		b := make([]byte, r.Intn(20))
		_, _ = r.Read(b)
		v.SetString(string(b))
	default:
		x, _ := quick.Value(v.Type(), r)
		v.Set(x)
	}
}

// What is read is what was written, and what is written by hand is what would be
// written of the type.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i, of := range kinds {
		if of == reflect.TypeFor[refresh]() || of == reflect.TypeFor[remember]() {
			continue // their values are not any
		}
		for range 30 {
			v := reflect.New(of).Elem()
			fillIn(v, r)
			var c = v.Interface()
			switch x := c.(type) {
			case engine.Heartbeat:
				c = &x
			case engine.Allocate:
				c = &x
			case engine.Recover:
				c = withoutSecrets(x)
				v = reflect.ValueOf(c)
			case engine.RecoverApplications:
				x.Applications = appsWithoutSecrets(x.Applications)
				c = x
				v = reflect.ValueOf(c)
			}
			b := appendCommand(nil, c)
			if want := appendValue([]byte{byte(i + 1)}, v); !bytes.Equal(b, want) {
				t.Fatalf("%v is written as\n%x, by its type\n%x", of, b, want)
			}
			d := newDecoder(b)
			got, _ := d.command()
			if d.err != nil || len(d.b) > 0 || !reflect.DeepEqual(got, c) {
				t.Fatalf("%+v came back as\n%+v: %v, %d bytes left", c, got, d.err, len(d.b))
			}
			for n := range b {
				d := newDecoder(b[:n])
				if d.command(); d.err == nil {
					t.Fatalf("%d of %d bytes of %+v were read", n, len(b), c)
				}
			}
		}
	}
}

// Nil and empty slices, texts that are not UTF-8 and NaN come back as they were.
func TestOddValues(t *testing.T) {
	none, empty := []string(nil), []string{}
	for _, c := range []engine.Command{
		&engine.Heartbeat{Labels: nil}, &engine.Heartbeat{Labels: &none}, &engine.Heartbeat{Labels: &empty},
		&engine.Allocate{Asks: []yarn.Ask{}, BlacklistAdd: []string{"\xff"}, TrackingURL: "\x00\xfe"},
		engine.Stored{}, engine.RefreshNodes{Excluded: map[yarn.NodeID]engine.Exclusion{}}, engine.RefreshNodes{},
	} {
		d := newDecoder(appendCommand(nil, c))
		if got, _ := d.command(); !reflect.DeepEqual(got, c) {
			t.Errorf("%#v came back as %#v", c, got)
		}
	}
	d := newDecoder(appendCommand(nil, &engine.Allocate{Progress: float32(math.NaN())}))
	if got, _ := d.command(); !math.IsNaN(float64(got.(*engine.Allocate).Progress)) {
		t.Errorf("NaN came back as %v", got)
	}
}

// A refresh comes back with a configuration of the same properties.
func TestRefresh(t *testing.T) {
	p := []config.Property{{Name: config.Prefix + "root.queues", Value: "a", Origin: "x:1"}, {Name: config.Prefix + "root.a.capacity", Value: "100"}}
	cfg, _, err := config.Parse(p, config.Cluster{MinAllocation: yarn.NewResource(1, 1), MaxAllocation: yarn.NewResource(8, 8), Admins: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := newDecoder(appendCommand(nil, engine.RefreshQueues{Ticket: 7, Config: cfg, Prepared: scheduler.Prepare(cfg, sched.Basis())}))
	got, prepared := d.command()
	c := got.(engine.RefreshQueues)
	if d.err != nil || !prepared || c.Ticket != 7 || !reflect.DeepEqual(c.Config, cfg) {
		t.Errorf("it came back as %+v: %v", c, d.err)
	}
	d = newDecoder(appendCommand(nil, engine.RefreshQueues{Problem: "no file"}))
	if got, prepared := d.command(); prepared || !reflect.DeepEqual(got, engine.RefreshQueues{Problem: "no file"}) {
		t.Errorf("it came back as %+v", got)
	}
}

// A refresh under the FairScheduler comes back with its allocation file, and without one where there is none.
func TestRefreshWithAllocations(t *testing.T) {
	cluster := config.Cluster{Policy: config.FairPolicy, MinAllocation: yarn.NewResource(1, 1), MaxAllocation: yarn.NewResource(8, 8)}
	file := &config.AllocationFile{Name: "/conf/fair-scheduler.xml", Text: "<allocations><queue name='a'><weight>3</weight></queue></allocations>"}
	for _, allocations := range []*config.AllocationFile{nil, file} {
		cluster.Allocations = allocations
		cfg, _, err := config.Parse([]config.Property{{Name: config.FairPrefix + "preemption", Value: "true", Origin: "x:1"}}, cluster)
		if err != nil {
			t.Fatal(err)
		}
		d := newDecoder(appendCommand(nil, engine.RefreshQueues{Ticket: 7, Config: cfg}))
		got, _ := d.command()
		c, ok := got.(engine.RefreshQueues)
		if d.err != nil || !ok || !c.Config.Fair.Preemption || !reflect.DeepEqual(c.Config, cfg) {
			t.Errorf("%v: it came back as %+v: %v", allocations, got, d.err)
		}
		if q := c.Config.Fair.Queue("root.a"); (q != nil) != (allocations != nil) {
			t.Errorf("%v: root.a is %v", allocations, q)
		}
	}
}

// No key, token, launch context or unknown field is kept; names of records are.
func TestSecrets(t *testing.T) {
	const secret = "SECRETSECRET"
	b := []byte(secret)
	remember := engine.Remember{Ticket: 5, Ops: []state.Op{
		state.Put(state.MasterKeys{Current: state.MasterKey{ID: 1, Bytes: b}, Next: state.MasterKey{ID: 2, Bytes: b}, Unknown: b}),
		state.Put(state.DelegationKey{ID: 3, Bytes: b, Unknown: b}),
		state.Remove(state.DelegationToken{Sequence: 4, Identifier: b, Unknown: b}),
		state.Put(state.DelegationSequence{Last: 6, Unknown: b}),
	}}
	recovered := engine.Recover{
		Applications: []engine.RecoveredApplication{{Submission: &engine.Submission{}, Record: &state.Application{Context: b, CallerSignature: b, Unknown: b, User: "ada"},
			Attempts: []state.Attempt{{Unknown: b, Host: "h"}}}},
		Labels: state.Labels{Known: []state.NodeLabel{{Name: "x", Unknown: b}}, Nodes: []state.LabelledNode{{Label: "x", Unknown: b}}},
	}
	for _, c := range []engine.Command{remember, recovered} {
		text := appendCommand(nil, c)
		if bytes.Contains(text, b) {
			t.Errorf("%T is kept with a secret", c)
		}
		d := newDecoder(text)
		got, _ := d.command()
		if d.err != nil {
			t.Fatal(d.err)
		}
		if r, ok := got.(engine.Remember); ok {
			for i, op := range r.Ops {
				if op.String() != remember.Ops[i].String() {
					t.Errorf("%v came back as %v", remember.Ops[i], op)
				}
			}
			if len(r.Ops) != len(remember.Ops) || r.Ticket != 5 {
				t.Errorf("it came back as %+v", r)
			}
		}
	}
	if recovered.Applications[0].Record.Context == nil || recovered.Applications[0].Attempts[0].Unknown == nil || recovered.Labels.Known[0].Unknown == nil {
		t.Error("the command itself was changed")
	}
	if got := reflect.TypeFor[state.Op]().NumField(); got != 2 {
		t.Errorf("a change of the store has %d fields: which of them may be kept?", got)
	}
}
