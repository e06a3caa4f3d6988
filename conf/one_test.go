package conf

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const ports = rm + "address|" + rm + "scheduler.address|" + rm + "resource-tracker.address|" + rm + "admin.address|" + rm + "webapp.address|" + rm + "webapp.https.address"

// former is a cluster that had high availability: of each id all addresses, rm1's on port 11 to 16 of one, rm2's on 21 to 26 of two.
func former(changes ...string) map[string]string {
	out := map[string]string{rm + "ha.enabled": "false", rm + "ha.rm-ids": "rm1,rm2"}
	for i, name := range strings.Split(ports, "|") {
		out[name+".rm1"], out[name+".rm2"] = "one:1"+string(rune('1'+i)), "two:2"+string(rune('1'+i))
	}
	for i := 0; i < len(changes); i += 2 {
		if out[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(out, changes[i])
		}
	}
	return out
}

// siteFiles are a yarn-site.xml of these properties, for either daemon.
func siteFiles(values map[string]string) Options {
	o := site(map[string]string{"yarn-site.xml": siteOf(values)})
	o.System = map[string]string{"yarn.log.dir": "/logs"}
	return o
}

// siteOf is a yarn-site.xml of these properties.
func siteOf(values map[string]string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		b.WriteString(`<property name="` + name + `" value="` + values[name] + "\"/>\n")
	}
	return b.String() + "</configuration>"
}

// TestOneOfMany: whose addresses are used without high availability, and what wins over them.
func TestOneOfMany(t *testing.T) {
	only := func(pairs ...string) map[string]string {
		out := map[string]string{rm + "ha.rm-ids": "rm1,rm2"}
		for i := 0; i < len(pairs); i += 2 {
			out[rm+pairs[i]] = pairs[i+1]
		}
		return out
	}
	const nobody = "0.0.0.0:8032 0.0.0.0:8030 0.0.0.0:8031 0.0.0.0:8033 0.0.0.0:8088 0.0.0.0:8090"
	const first, second = "one:11 one:12 one:13 one:14 one:15 one:16", "two:21 two:22 two:23 two:24 two:25 two:26"
	for _, c := range []struct {
		what   string
		files  map[string]string
		here   string // the hosts of this machine
		want   string // what everybody reads
		wantRM string // what the ResourceManager reads on this machine; "" for the same
	}{
		{"the first id", former(), "", first, ""},
		{"the first id in the list's order", former(rm+"ha.rm-ids", " rm2 , rm1"), "", second, ""},
		{"high availability is off by default", former(rm+"ha.enabled", ""), "", first, ""},
		{"high availability is on", former(rm+"ha.enabled", "TRUE"), "one", nobody, ""},
		{"no ids", former(rm+"ha.rm-ids", ""), "one", nobody, ""},
		{"other ids", former(rm+"ha.rm-ids", "a,b"), "one", nobody, ""},
		{"an id that is chosen", former(rm+"ha.id", "rm2"), "one", second, ""},
		{"an id that is chosen, and no list", former(rm+"ha.id", "rm2", rm+"ha.rm-ids", ""), "one", second, ""},
		{"an id that has none", former(rm+"ha.id", "rm3"), "one", nobody, ""},
		{"this machine is the first", former(), "one", first, ""},
		{"this machine is the second", former(), "two", first, second},
		{"this machine is both", former(), "one two", first, ""},
		{"this machine is neither", former(), "three", first, ""},
		{"a host by variable", former(rm+"address.rm2", "${second}:21", "second", "two"), "two", first, second},
		{"a plain address", former(rm+"address", "x:1"), "", "x:1 one:12 one:13 one:14 one:15 one:16", ""},
		{"a plain address that is the default", former(rm+"webapp.address", "0.0.0.0:8088"), "", "one:11 one:12 one:13 one:14 0.0.0.0:8088 one:16", ""},
		{"a plain host", former(rm+"hostname", "x"), "one", "x:8032 x:8030 x:8031 x:8033 x:8088 x:8090", ""},
		{"a plain host with ids' hosts", former(rm+"hostname", "x", rm+"hostname.rm1", "one"), "two", "x:8032 x:8030 x:8031 x:8033 x:8088 x:8090", ""},
		{"hosts alone", only("hostname.rm1", "one", "hostname.rm2", "two"), "two", "one:8032 one:8030 one:8031 one:8033 one:8088 one:8090", "two:8032 two:8030 two:8031 two:8033 two:8088 two:8090"},
		{"hosts and some ports", only("hostname.rm1", "one", "scheduler.address.rm1", "one:12", "admin.address.rm1", "one"), "", "one:8032 one:12 one:8031 one:8033 one:8088 one:8090", ""},
		{"the first has none", only("hostname.rm2", "two"), "one", "two:8032 two:8030 two:8031 two:8033 two:8088 two:8090", ""},
		{"ids are not mixed", only("address.rm1", "one:11", "scheduler.address.rm2", "two:22"), "", "one:11 0.0.0.0:8030 0.0.0.0:8031 0.0.0.0:8033 0.0.0.0:8088 0.0.0.0:8090", ""},
	} {
		for _, role := range []struct {
			local func(string) bool
			want  string
		}{
			{nil, c.want},
			{func(host string) bool { return slices.Contains(strings.Fields(c.here), host) }, c.wantRM},
		} {
			if role.want == "" {
				role.want = c.want
			}
			o := siteFiles(c.files)
			o.Local = role.local
			p := mustLoad(t, o)
			r := NewReader(p)
			var got []string
			for _, name := range strings.Split(ports, "|") {
				got = append(got, r.Address(name, "0.0.0.0:1", map[string]int{rm + "admin.address": 8033}[name]).String())
			}
			if text := strings.Join(got, " "); text != role.want || r.Err() != nil {
				t.Errorf("%s, of the ResourceManager %v: %s %v", c.what, role.local != nil, text, r.Err())
			}
			if role.want == nobody {
				continue
			}
			s, err := ReadResourceManager(p)
			if err != nil {
				t.Fatal(err)
			}
			n, err := ReadNodeManager(p)
			if err != nil {
				t.Fatal(err)
			}
			ours := []string{s.Client.Address.String(), s.Master.Address.String(), s.Tracker.Address.String(), s.Admin.Address.String(), s.Web.Address.String(), got[5]}
			if text := strings.Join(ours, " "); text != role.want || n.Tracker.Targets[0].Address != s.Tracker.Address || n.Web.ResourceManager != s.Web.Address {
				t.Errorf("%s: the ResourceManager reads %s, the NodeManager %v, %v", c.what, text, n.Tracker.Targets, n.Web.ResourceManager)
			}
		}
	}
}

// TestOneIsSaid: one line says whose addresses are used, and the others are no matter.
func TestOneIsSaid(t *testing.T) {
	const taken = rm + "address = one:11, " + rm + "scheduler.address = one:12, " + rm + "resource-tracker.address = one:13, " +
		rm + "admin.address = one:14, " + rm + "webapp.address = one:15, " + rm + "webapp.https.address = one:16"
	const unlike = "addresses of one ResourceManager: high availability is off, and those of %s are used, which Hadoop's own programs do not do: "
	const plain = "set these properties, or " + rm + "hostname if the ports are the default ones"
	here := func(host string) bool { return host == "two" }
	for _, c := range []struct {
		what    string
		files   map[string]string
		local   func(string) bool
		want    string
		ignored int
	}{
		{"all", former(), nil, rm + `ha.rm-ids = "rm1,rm2": ` + strings.ReplaceAll(unlike, "%s", "rm1") + taken + "; " + plain, 6},
		{"by its id", former(rm+"ha.id", "rm1"), here, rm + `ha.id = "rm1": ` + strings.ReplaceAll(unlike, "%s", "rm1") + taken + "; " + plain, 6},
		{"by its machine", former(), here, rm + `ha.rm-ids = "rm1,rm2": ` + strings.ReplaceAll(unlike, "%s", "rm2") +
			strings.NewReplacer("one:1", "two:2").Replace(taken) + "; this machine is that of rm2, but NodeManagers and commands that have high availability off, too, look for rm1; set " +
			rm + "ha.id to rm2 for all of them; or " + plain, 6},
		{"a host", map[string]string{rm + "ha.rm-ids": "rm1,rm2", rm + "hostname.rm1": "one", rm + "hostname.rm2": "two", rm + "address": "one:11"}, nil,
			rm + `ha.rm-ids = "rm1,rm2": ` + strings.ReplaceAll(unlike, "%s", "rm1") + rm + "hostname = one; " + plain, 1},
	} {
		o := siteFiles(c.files)
		o.Local = c.local
		p := mustLoad(t, o)
		for _, judge := range []func(*Properties) Findings{UnsupportedByResourceManager, UnsupportedByNodeManager} {
			found := judge(p)
			changed, ignored := found.Of(Changed), found.Of(Ignored)
			if len(found.Of(Refused)) != 0 || len(changed) != 1 || changed[0].Origin.Line == 0 || !strings.HasSuffix(changed[0].String(), ":1: "+c.want) {
				t.Errorf("%s:\n%v\nwant\n%s", c.what, changed, c.want)
			}
			for _, f := range ignored {
				if f.Feature != "address of one ResourceManager" || f.Advice != "" || strings.HasSuffix(f.Name, ".rm1") != (c.what == "by its machine") {
					t.Errorf("%s: %v", c.what, f)
				}
			}
			if len(ignored) != c.ignored {
				t.Errorf("%s: ignored: %v", c.what, ignored)
			}
		}
	}
}

// TestOneIsNamed: what is wrong with an address, and who cannot be reached there, has the name that is in the file; and nobody has
// set the plain one.
func TestOneIsNamed(t *testing.T) {
	p := mustLoad(t, siteFiles(former(rm+"admin.address.rm1", "one:many")))
	_, err := ReadResourceManager(p)
	if err == nil || !strings.HasPrefix(err.Error(), "yarn-site.xml:4:1: "+rm+`admin.address.rm1 = "one:many": not allowed`) {
		t.Error(err)
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{former(), rm + "resource-tracker.address.rm1"},
		{former(rm+"resource-tracker.address.rm1", "", rm+"hostname.rm1", "one"), rm + "hostname.rm1"},
		{former(rm+"resource-tracker.address", "x:1", rm+"hostname.rm1", "one"), rm + "resource-tracker.address"},
		{former(rm+"hostname", "x"), rm + "resource-tracker.address"},
	} {
		n, err := ReadNodeManager(mustLoad(t, siteFiles(c.files)))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Tracker.Targets[0].Property; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for _, v := range p.Explicit() {
		if v.Name == rm+"address" {
			t.Errorf("%+v", v)
		}
	}
}

// TestOneAndFurtherFiles: files and overrides that come later decide anew, and leave alone what the machine has decided.
func TestOneAndFurtherFiles(t *testing.T) {
	o := site(map[string]string{"yarn-site.xml": siteOf(former(rm+"ha.enabled", "true")), "more.xml": "<configuration/>",
		"plain.xml": siteOf(map[string]string{rm + "hostname": "x"}), "on.xml": siteOf(map[string]string{rm + "ha.enabled": "true"})})
	base := mustLoad(t, o)
	if got := base.Get(rm + "address"); got != "0.0.0.0:8032" {
		t.Error(got)
	}
	over := o
	over.Base, over.Overrides = base, []Override{{rm + "ha.enabled", "false"}}
	over.Local = func(host string) bool { return host == "two" }
	off := mustLoad(t, over)
	if got := off.Get(rm + "address"); got != "two:21" {
		t.Error(got)
	}
	for file, want := range map[string]string{"more.xml": "two:21", "plain.xml": "x:8032", "on.xml": "0.0.0.0:8032"} {
		again := o
		again.Base, again.Files = off, []string{file}
		p := mustLoad(t, again)
		if got := p.Get(rm + "address"); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}
