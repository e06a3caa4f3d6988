package lint_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/yarn"
)

var update = flag.Bool("update", false, "rewrite the findings in testdata")

// Comments of the files of testdata: settings of yarn-site.xml, and the size of
// the cluster.
var (
	siteComment = regexp.MustCompile(`<!-- site (\S+)=(\S*) -->`)
	sizeComment = regexp.MustCompile(`<!-- size memory-mb=(\d+),vcores=(\d+) -->`)
)

// read is what a file of testdata gives the linter.
func read(t testing.TB, path string) lint.Input {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return input(t, filepath.Base(path), data)
}

func input(t testing.TB, name string, data []byte) lint.Input {
	t.Helper()
	open := func(string) ([]byte, error) { return data, nil }
	p, err := conf.Load(conf.Options{Files: []string{name}, NoDefaults: true, Read: open})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	in := lint.Input{File: name, Elsewhere: func(n string) (bool, string) {
		return strings.HasPrefix(n, "yarn.scheduler."), conf.Nearest(n)
	}}
	for _, v := range p.All() {
		in.Properties = append(in.Properties, config.Property{Name: v.Name, Value: v.Value, Origin: v.Origin.Position()})
	}
	in.Cluster = config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4)}
	for _, m := range siteComment.FindAllStringSubmatch(string(data), -1) {
		number, _ := strconv.Atoi(m[2])
		switch m[1] {
		case "yarn.acl.enable":
			in.Cluster.ACLEnabled = m[2] == "true"
		case "yarn.node-labels.enabled":
			in.Cluster.LabelsEnabled = m[2] == "true"
		case "yarn.cluster.max-application-priority":
			in.Cluster.MaxPriority = int32(number)
		case "yarn.scheduler.minimum-allocation-mb":
			in.Cluster.MinAllocation[yarn.Memory] = int64(number)
		default:
			t.Fatalf("%s: setting %s", name, m[1])
		}
	}
	if m := sizeComment.FindStringSubmatch(string(data)); m != nil {
		memory, _ := strconv.Atoi(m[1])
		vcores, _ := strconv.Atoi(m[2])
		in.Size = yarn.NewResource(int64(memory), int64(vcores))
	}
	return in
}

func corpus(t testing.TB, folder string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.xml"))
	if err != nil || len(files) < least {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	return files
}

func rendered(findings []lint.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// refused is why a ResourceManager would not start with the properties.
func refused(in lint.Input) error {
	cfg, err := parsed(in)
	if err == nil {
		_, err = scheduler.New(cfg)
	}
	return err
}

func parsed(in lint.Input) (*config.Config, error) {
	var ours []config.Property
	for _, p := range in.Properties {
		if strings.HasPrefix(p.Name, config.Prefix) {
			ours = append(ours, p)
		}
	}
	cfg, _, err := config.Parse(ours, in.Cluster)
	return cfg, err
}

// TestCorpus holds every file to its exact findings, and the linter to the
// scheduler: there is an error if and only if the scheduler refuses.
func TestCorpus(t *testing.T) {
	for _, path := range append(corpus(t, "bad", 100), corpus(t, "good", 5)...) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".xml"), func(t *testing.T) {
			in := read(t, path)
			findings := lint.Check(in)
			got, golden := rendered(findings), strings.TrimSuffix(path, ".xml")+".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			errors, warnings, hints := lint.Count(findings)
			if err := refused(in); (err != nil) != (errors > 0) {
				t.Errorf("%d errors, but the scheduler says: %v", errors, err)
			}
			for _, f := range findings {
				complete(t, f)
			}
			if good := strings.Contains(path, "good"); good && errors+warnings > 0 || !good && errors+warnings+hints == 0 {
				t.Errorf("%d errors, %d warnings, %d hints", errors, warnings, hints)
			}
		})
	}
}

// complete wants a place, a property, what happens and what to do of a finding.
func complete(t *testing.T, f lint.Finding) {
	t.Helper()
	file, line, column := f.Place()
	if file == "" || f.Set && (line == 0 || column == 0) || f.Key == "" || f.Code == "" || f.What == "" || f.Fix == "" {
		t.Errorf("the finding says too little: %+v", f)
	}
}

func property(name, value string) string {
	return "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value + "</value></property>\n"
}

func TestPlaceOfFindings(t *testing.T) {
	in := input(t, "capacity-scheduler.xml", []byte(`<configuration>
  <property>
    <name>yarn.scheduler.capacity.root.queues</name>
    <value>a</value>
  </property>
  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>99</value></property>
</configuration>`))
	findings := lint.Check(in)
	if len(findings) == 0 || findings[0].Origin != "capacity-scheduler.xml:4:5" || findings[0].Code != lint.Sum {
		t.Errorf("findings %v", findings)
	}
}

// TestManyFindings meets the bounds: neither the number of errors nor that of
// findings runs away.
func TestManyFindings(t *testing.T) {
	var b, queues strings.Builder
	for i := range lint.MaxFindings {
		b.WriteString(property(fmt.Sprintf("nonsense%d", i), "x"))
	}
	for i := range 150 {
		fmt.Fprintf(&queues, "q%03d,", i)
		b.WriteString(property(fmt.Sprintf("root.q%03d.capacity", i), "x"))
	}
	b.WriteString(property("root.queues", queues.String()))
	findings := lint.Check(input(t, "f.xml", []byte("<configuration>"+b.String()+"</configuration>")))
	if last := findings[len(findings)-1]; len(findings) != lint.MaxFindings+1 || last.Code != "more" || last.Severity != lint.Error {
		t.Errorf("%d findings, the last is %v", len(findings), last)
	}
}

// FuzzCheck wants no panic, and an error exactly when the scheduler refuses.
func FuzzCheck(f *testing.F) {
	paths, _ := fs.Glob(os.DirFS("testdata"), "*/*.xml")
	for _, p := range paths {
		data, err := os.ReadFile(filepath.Join("testdata", p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		open := func(string) ([]byte, error) { return data, nil }
		if _, err := conf.Load(conf.Options{Files: []string{"f.xml"}, NoDefaults: true, Read: open}); err != nil {
			return
		}
		if siteComment.Match(data) || sizeComment.Match(data) {
			return
		}
		in := input(t, "f.xml", data)
		errors, _, _ := lint.Count(lint.Check(in))
		if err := refused(in); (err != nil) != (errors > 0) {
			t.Errorf("%d errors, but the scheduler says: %v", errors, err)
		}
	})
}

// TestNotRead: queues that nobody looks at are not judged.
func TestNotRead(t *testing.T) {
	in := read(t, corpus(t, "bad", 1)[0])
	in.Cluster.Policy = config.FifoPolicy
	if got := lint.Check(in); len(got) != 1 || got[0].Code != lint.NotRead {
		t.Errorf("%s", rendered(got))
	}
}
