package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/conf"
)

// fs2csDir has input files, pairs of name and content, and an empty directory out. Its conf is the configuration directory.
func fs2csDir(t *testing.T, files ...string) string {
	t.Helper()
	dir := confDirOf(t, append([]string{"yarn-site.xml", "", "fair-scheduler.xml", goodAllocations}, files...)...)
	for i := 0; i < len(files); i += 2 {
		if files[i] == "rules" { // which is no configuration file
			if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"out", "conf"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fs2csRun runs yarn fs2cs with arguments in which DIR is the directory.
func fs2csRun(dir, args string) result {
	words := strings.Fields("fs2cs " + args)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "DIR", dir)
	}
	r := newWorld("HADOOP_CONF_DIR=" + dir + "/conf").run(words...)
	r.out, r.err = strings.ReplaceAll(r.out, dir, "DIR"), strings.ReplaceAll(r.err, dir, "DIR")
	return r
}

const fs2csIn = "-y DIR/yarn-site.xml -f DIR/fair-scheduler.xml "

func TestFs2csSays(t *testing.T) {
	const precondition = "ERROR Cannot start FS config conversion due to the following precondition error: "
	allocations := func(text string) []string {
		return []string{"fair-scheduler.xml", "<allocations>\n" + text + "\n</allocations>"}
	}
	site := func(name, value string) []string { return []string{"yarn-site.xml", name + " " + value} }
	for _, x := range []struct {
		name, args string
		files      []string
		code       int
		says       string // on standard error
	}{
		{"unknown", "-z", nil, 255, "ERROR Options parsing failed: Unrecognized option: -z\n"},
		{"no value", "-y", nil, 255, "ERROR Options parsing failed: Missing argument for option: y\n"},
		{"no abbreviation", fs2csIn + "--output DIR/out", nil, 255, "Unrecognized option: --output"},
		{"generic option", fs2csIn + "-o DIR/out -D a=b", nil, 255, "Unrecognized option: -D"},
		{"flags together", fs2csIn + "-o DIR/out -ps", nil, 255, "Unrecognized option: -ps"},
		{"no site", "-f DIR/fair-scheduler.xml -p", nil, 255, precondition + "Missing yarn-site.xml parameter"},
		{"no output", fs2csIn, nil, 255, precondition + "Output directory or console mode was not defined."},
		{"dry run without output", fs2csIn + "-d", nil, 255, precondition + "Output directory configuration is not defined but it is mandatory!"},
		{"no such site", "-y DIR/none.xml -p", nil, 255, precondition + "Specified path DIR/none.xml does not exist (As value of parameter yarn-site.xml)"},
		{"site is a directory", "-y DIR/out -p", nil, 255, precondition + "Specified path DIR/out is a directory"},
		{"no such allocations", "-y DIR/yarn-site.xml -f DIR/none.xml -p", nil, 255, "DIR/none.xml does not exist (As value of parameter fair-scheduler.xml)"},
		{"no such rules", fs2csIn + "-p -r DIR/none", nil, 255, "DIR/none does not exist (As value of parameter conversion rules config file)"},
		{"no such output", fs2csIn + "-o DIR/none", nil, 255, precondition + "Specified path DIR/none is not a directory"},
		{"beside the input", fs2csIn + "-o DIR", nil, 255, "contains the yarn-site.xml provided with the y|yarnsiteconfig options"},
		{"preemption", fs2csIn + "-p -dp NoPolicy", nil, 255, precondition + "Specified disable-preemption mode is illegal"},
		{"cluster", fs2csIn + "-p -c much", nil, 255, `ERROR Error while parsing resource. -c "much": there must be one amount of mb and one of vcores, and no other; write`},
		{"rules", fs2csIn + "-p -r DIR/rules", []string{"rules", "maxChildQueue.limit=x"}, 255, "is not an integer"},
		{"no allocations", "-y DIR/yarn-site.xml -p", nil, 255, precondition + "fair-scheduler.xml is not defined neither in yarn-site.xml"},
		{"allocations in configuration directory", "-y DIR/yarn-site.xml -p", site("yarn.scheduler.fair.allocation.file", "none.xml"), 255, "ERROR there is no allocation file DIR/conf/none.xml: give one with -f\n"},
		{"allocations elsewhere", "-y DIR/yarn-site.xml -p", site("yarn.scheduler.fair.allocation.file", "hdfs://h/f.xml"), 255, "is not a file of this machine"},
		{"broken site", fs2csIn + "-p", []string{"yarn-site.xml", "<configuration>"}, 255, "ERROR DIR/yarn-site.xml:1:16: "},
		{"number", fs2csIn + "-p", site("yarn.scheduler.fair.max.assign", "many"), 255, "ERROR DIR/yarn-site.xml:2:54: yarn.scheduler.fair.max.assign = \"many\": not allowed"},
		{"fraction", fs2csIn + "-p", site("yarn.scheduler.fair.locality.threshold.node", "lots"), 255, "yarn.scheduler.fair.locality.threshold.node"},
		{"allocation", fs2csIn + "-p", site("yarn.scheduler.maximum-allocation-mb", "100"), 255, "less than the minimum allocation of 1024"},
		{"refused", fs2csIn + "-p", allocations("<queue name=\"a\"><weight/></queue>\n<queue name=\"b.c\"/>"), 255,
			"ERROR the allocation file is refused:\nDIR/fair-scheduler.xml:2:17: root.a/weight: it is empty; write a value, or remove it\nDIR/fair-scheduler.xml:3:1: root/queue"},
		{"drf below fair", fs2csIn + "-p", allocations(`<queue name="a"><schedulingPolicy>drf</schedulingPolicy></queue>`), 255, "drf is not possible below root, which is fair"},
		{"accepted but odd", fs2csIn + "-p -s", allocations(`<queue name="a"><wieght>2</wieght></queue>`), 0, "WARN DIR/fair-scheduler.xml:2:17: root.a/wieght: nothing reads this element"},
		{"comma", fs2csIn + "-p", allocations(`<queue name="a,b"/>`), 255, "ERROR DIR/fair-scheduler.xml:2: Queue root.a,b has a comma in its name"},
		{"places", fs2csIn + "-p -s", allocations(`<queue name="q"><minResources>vcores=1</minResources><queue name="q"><minResources>vcores=1</minResources></queue></queue>`), 0,
			"WARN Setting <minResources> is not supported, ignoring conversion (root.q line 2, root.q.q line 2)\n"},
		{"abort", fs2csIn + "-p -r DIR/rules", []string{"rules", "minResources.action=abort"}, 255,
			"ERROR Unsupported property/setting encountered during FS config conversion: Setting <minResources> is not supported (root.services line 3)\nERROR nothing is converted, as DIR/rules says\n"},
		{"rules with nothing behind", fs2csIn + "-p -s -r DIR/rules", []string{"rules", "\nminResource.action=abort"}, 0, "WARN DIR/rules:2: There is no rule minResource.action\n"},
		{"printed and verified", fs2csIn + "-p -o DIR/out", nil, 255, "ERROR verification failed: with -p no files are written into DIR/out that could be verified"},
		{"printed, and refused", fs2csIn + "-p", allocations(`<queue name="a"><weight>10001</weight></queue>`), 0, "WARN capacity-scheduler.xml:"},
		{"refused after all", fs2csIn + "-o DIR/out", allocations(`<queue name="a"><weight>10001</weight></queue>`), 255,
			"ERROR verification failed: a ResourceManager does not start with these files. They stay in DIR/out to be corrected; yarn queue -lint DIR/out checks them again\n"},
		{"types", fs2csIn + "-p -s", []string{"fair-scheduler.xml", strings.ReplaceAll(goodAllocations, "4096 mb, 4 vcores", "gpu=1")}, 255, `there is no resource type "gpu"`},
		{"fractions of nodes", fs2csIn + "-o DIR/out", site("yarn.scheduler.fair.locality.threshold.rack", "0.5"), 0, "rack-locality-additional-delay = 0.5 should be a number of missed opportunities: no ResourceManager starts with it."},
		{"rules in a file", fs2csIn + "-o DIR/out -e", nil, 0, "WARN nothing names DIR/out/mapping-rules.json yet"},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := fs2csRun(fs2csDir(t, x.files...), x.args)
			if got.code != x.code || !strings.Contains(got.err, x.says) {
				t.Errorf("exit code %d, want %d with %q:\n%s", got.code, x.code, x.says, got.err)
			}
		})
	}
}

func TestFs2csHelp(t *testing.T) {
	for _, args := range []string{"", "-h", "--help", "-p --help stray"} {
		got := fs2csRun(t.TempDir()+"/none", args)
		if got.code != 0 || got.err != "" || !strings.HasPrefix(got.out, "usage: yarn fs2cs -y FILE [-f FILE] {-o DIR | -p} [OPTIONS]\n -a,--enable-async-scheduler") {
			t.Errorf("%q: exit code %d, %s%s", args, got.code, got.out, got.err)
		}
	}
	for _, o := range fs2csOptions {
		if o.help == "" || o.long == "" {
			t.Errorf("-%s has no help, or no long name", o.name)
		}
	}
}

func TestFs2csDryRun(t *testing.T) {
	dir := fs2csDir(t, "fair-scheduler.xml", `<allocations>
<queue name="a"><maxResources>50%</maxResources><minResources>vcores=1</minResources></queue>
<queue name="b"><maxResources>50%</maxResources></queue>
</allocations>`, "rules", "maxResources.action=abort")
	got := fs2csRun(dir, fs2csIn+"-o DIR/out -d -r DIR/rules")
	if _, report, _ := strings.Cut(got.err, "Results"); got.code != 0 || report != ` of dry run:
Number of errors: 1
Number of warnings: 1
Verification result: PASSED
List of errors:
Setting <maxResources> is not supported (root.a line 2, root.b line 3)
List of warnings:
Setting <minResources> is not supported, ignoring conversion (root.a line 2)
` {
		t.Errorf("exit code %d\n%s", got.code, got.err)
	}
	if got.out != "DIR/out/capacity-scheduler.xml written\nDIR/out/yarn-site.xml written\n" {
		t.Error(got.out)
	}
}

// What is written is not written over, and the linter reads it as it was meant.
func TestFs2csFiles(t *testing.T) {
	dir := fs2csDir(t, "fair-scheduler.xml", `<allocations><queue name="a&amp;b"><queue name="&lt;c>"/></queue></allocations>`)
	if err := os.WriteFile(filepath.Join(dir, "conf", queueFileName), []byte(`<configuration><property><name>yarn.scheduler.capacity.root.a&amp;b.priority</name>`+
		`<value>${user.name}7</value></property></configuration>`), 0o644); err != nil {
		t.Fatal(err)
	}
	const args = fs2csIn + "-oDIR/out -s"
	if got := fs2csRun(dir, args); got.code != 0 {
		t.Fatal(got)
	}
	p, err := conf.Load(conf.Options{Dir: filepath.Join(dir, "out"), Files: []string{queueFileName}, NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"root.queues": "a&b", "root.a&b.queues": "<c>", "root.a&b.<c>.ordering-policy": "fair", "root.a&b.priority": "${user.name}7"} {
		if v, _ := p.Lookup("yarn.scheduler.capacity." + name); v.Raw != want {
			t.Errorf("%s = %q, want %q", name, v.Raw, want)
		}
	}
	if got := fs2csRun(dir, args); got.code != 255 || !strings.Contains(got.err, "already contains a file or directory named yarn-site.xml") {
		t.Error(got)
	}
}

// A relative path begins where the caller stands, and not, as with Apache's command, in the configuration directory.
func TestFs2csRelativePath(t *testing.T) {
	dir := fs2csDir(t)
	t.Chdir(dir)
	got := fs2csRun(dir, "-y yarn-site.xml -f fair-scheduler.xml -p")
	if got.code != 0 || !strings.Contains(got.out, "<name>yarn.scheduler.capacity.root.queues</name><value>training,services</value>") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// The yarn-site.xml that is written asks for nothing that a ResourceManager of Heddle has not got.
func TestFs2csAsksForWhatIsBuilt(t *testing.T) {
	dir := fs2csDir(t)
	if got := fs2csRun(dir, fs2csIn+"-o DIR/out"); got.code != 0 {
		t.Fatal(got.err)
	}
	site, err := conf.Load(conf.Options{Dir: filepath.Join(dir, "out")})
	if err != nil {
		t.Fatal(err)
	}
	if len(site.Get("yarn.resourcemanager.scheduler.monitor.policies")) == 0 {
		t.Error("nothing was read of what was written")
	}
	if refused := conf.UnsupportedByResourceManager(site).Of(conf.Refused); len(refused) > 0 {
		t.Errorf("%v", refused)
	}
}
