package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// columns are the places of values within lines.
var columns = regexp.MustCompile(`:(\d+):\d+: `)

// TestConfLint: every group is listed, the worst first, each line with its place, the daemons that it is about, and the way on.
func TestConfLint(t *testing.T) {
	dir := confDirOf(t, "yarn-site.xml", `
	yarn.webapp.ui2.enable true
	yarn.numa true
	yarn.nodemanager.numa-awareness.enabled true
	yarn.resourcemanager.proxy-user-privileges.enabled true
	yarn.federation.enabled true
	yarn.nodemanager.vmem-pmem-ratio lots`, "mapred-site.xml", "\n\tmapreduce.shuffle.ssl.enabled true")
	file := filepath.Join(dir, "yarn-site.xml")
	want := filepath.Join(dir, "mapred-site.xml") + `:2: refused [nodemanager] mapreduce.shuffle.ssl.enabled = "true": shuffle over TLS: map output would go over the wire in the clear; set it to false
` + file + `:5: refused [resourcemanager] yarn.resourcemanager.proxy-user-privileges.enabled = "true": token renewal for others: new tokens would not be fetched for applications; set it to false
` + file + `:6: refused [resourcemanager,nodemanager] yarn.federation.enabled = "true": federation: sub-clusters would not know of each other; set it to false; run each of them by itself
` + file + `:7: refused [nodemanager] yarn.nodemanager.vmem-pmem-ratio = "lots": not allowed, expected a number from 0.01 to 3.40282e+38
` + file + `:4: changed [nodemanager] yarn.nodemanager.numa-awareness.enabled = "true": NUMA: containers run on any socket; set it to false
` + file + `:2: ignored [resourcemanager] yarn.webapp.ui2.enable = "true": web interface 2: it is served where its war or folder is found, and the built-in interface always; set it to false
` + file + `:2: ignored [nodemanager] yarn.webapp.ui2.enable = "true": property not read: it has no effect
` + file + `:3: ignored [resourcemanager,nodemanager] yarn.numa = "true": property not read: it has no effect
` + dir + ": refused: 4, changed: 1, ignored: 3\n"
	for _, args := range [][]string{{"--config", dir, "conf", "-lint"}, {"conf", "-lint", dir}, {"conf", "-lint", "--config", dir}} {
		got := newWorld().run(args...)
		same(t, strings.Join(args, " "), columns.ReplaceAllString(got.out, ":$1: "), want)
		if got.code != 1 || got.err != "" {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
}

// TestConfLintExit: only what a daemon refuses is a failure, with -strict what changes something too.
func TestConfLintExit(t *testing.T) {
	changed, good := confDirOf(t, "yarn-site.xml", "\n\tyarn.nodemanager.numa-awareness.enabled true"), confDirOf(t, "yarn-site.xml", "\n\tyarn.acl.enable true")
	refused, broken := confDirOf(t, "yarn-site.xml", "\n\tyarn.nodemanager.amrmproxy.enabled true"), confDirOf(t, "yarn-site.xml", "<configuration>")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{good}, 0}, {[]string{good, "-strict"}, 0}, {[]string{changed}, 0}, {[]string{changed, "-strict"}, 1}, {[]string{refused}, 1}, {[]string{broken}, 1},
		{[]string{changed, "-strict", "-for", "resourcemanager"}, 0}, {[]string{refused, "-for", "resourcemanager"}, 0}, {[]string{refused, "-for", "nodemanager"}, 1},
		{[]string{good, "-for", "router"}, 2}, {[]string{good, good}, 2}, {[]string{filepath.Join(good, "none")}, 2},
	} {
		if got := newWorld().run(append([]string{"conf", "-lint"}, c.args...)...); got.code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, got.code, c.code, got.out, got.err)
		}
	}
}

// TestConfLintOfTwoResourceManagers: the ResourceManager has the addresses of its machine's id, everybody else those of the first, and
// with an id for all both are one finding.
func TestConfLintOfTwoResourceManagers(t *testing.T) {
	const hosts = "\n\tyarn.resourcemanager.ha.rm-ids rm1,rm2\n\tyarn.resourcemanager.hostname.rm1 192.0.2.1\n\tyarn.resourcemanager.hostname.rm2 127.0.0.1"
	for _, c := range []struct {
		more string
		want []string
	}{
		{"", []string{"[resourcemanager] yarn.resourcemanager.ha.rm-ids = \"rm1,rm2\": .* of rm2 are used, .*hostname = 127.0.0.1; .* look for rm1; set yarn.resourcemanager.ha.id to rm2 for all",
			"[nodemanager] yarn.resourcemanager.ha.rm-ids = \"rm1,rm2\": .* of rm1 are used, .*hostname = 192.0.2.1; set these"}},
		{"\n\tyarn.resourcemanager.ha.id rm2", []string{"[resourcemanager,nodemanager] yarn.resourcemanager.ha.id = \"rm2\": .* of rm2 are used, .*hostname = 127.0.0.1; set these"}},
	} {
		got := newWorld().run("conf", "-lint", confDirOf(t, "yarn-site.xml", hosts+c.more))
		if n := strings.Count(got.out, ": changed ["); n != len(c.want) || got.code != 0 {
			t.Errorf("%d changes, exit code %d\n%s", n, got.code, got.out)
		}
		for _, want := range c.want {
			if !regexp.MustCompile(strings.NewReplacer("[", `\[`, "]", `\]`).Replace(want)).MatchString(got.out) {
				t.Errorf("want %s:\n%s", want, got.out)
			}
		}
	}
}

func TestConfLintJSON(t *testing.T) {
	dir := confDirOf(t, "yarn-site.xml", "\n\tyarn.federation.enabled true")
	got := newWorld().run("conf", "-lint", dir, "--output", "json")
	var d struct {
		Schema, Kind, Directory   string
		Refused, Changed, Ignored int
		Findings                  []struct {
			Severity, File, Key, Value, Feature, What, Fix string
			Daemons                                        []string
			Line, Column                                   int
		}
	}
	if err := json.Unmarshal([]byte(got.out), &d); err != nil || got.code != 1 {
		t.Fatalf("%v, exit code %d: %s", err, got.code, got.out)
	}
	if d.Schema != Schema || d.Kind != "confLint" || d.Directory != dir || d.Refused != 1 || d.Changed+d.Ignored != 0 || len(d.Findings) != 1 {
		t.Fatalf("%+v", d)
	}
	f := d.Findings[0]
	if f.Severity != "refused" || strings.Join(f.Daemons, " ") != "resourcemanager nodemanager" || f.Line != 2 || f.Value != "true" || f.Feature != "federation" ||
		f.What == "" || !strings.HasPrefix(f.Fix, "set it to false") || f.File != filepath.Join(dir, "yarn-site.xml") || f.Key != "yarn.federation.enabled" {
		t.Errorf("%+v", f)
	}
}
