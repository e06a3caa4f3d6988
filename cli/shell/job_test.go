package shell

import (
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/wire/token"
)

func TestAJobTravelsAmongCredentials(t *testing.T) {
	j := sample()
	j.Environment, j.Hosts = []string{"A=b"}, []client.Host{{Name: "h", Rack: "/r"}}
	j.Files = map[string]client.File{"f": {Scheme: "file", Path: "/f", Port: -1, Size: 3, Timestamp: 4}}
	j.Properties = Needed(properties(t, "yarn.resourcemanager.hostname=rm"), "rm:8032")
	b, err := j.Credentials()
	must(t, err)
	c, err := token.ParseCredentials(b)
	must(t, err)
	got, err := jobOf(c)
	if err != nil || !reflect.DeepEqual(got, j) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, j)
	}
	p, err := got.properties()
	if err != nil || p.Get("yarn.resourcemanager.scheduler.address") != "rm:8030" {
		t.Error(err, p)
	}
	if _, err := jobOf(token.Credentials{}); err == nil || !strings.Contains(err.Error(), "not by hand") {
		t.Error(err)
	}
	for _, text := range []string{"{", `{"Format":2}`, `{"Format":1,"Containers":0}`} {
		var c token.Credentials
		c.SetSecret(SecretAlias, []byte(text))
		if _, err := jobOf(c); err == nil {
			t.Errorf("%s passed", text)
		}
	}
}

func TestJobsThatCannotBe(t *testing.T) {
	for _, x := range []struct {
		spoil func(*Job)
		want  string
	}{
		{func(j *Job) {}, ""},
		{func(j *Job) { j.Command = nil }, "no command"},
		{func(j *Job) { j.Command = []string{""} }, "no command"},
		{func(j *Job) { j.Containers = 0 }, "0 containers"},
		{func(j *Job) { j.Containers = MaxContainers + 1 }, "containers: it can be"},
		{func(j *Job) { j.Tries = 0 }, "0 attempts"},
		{func(j *Job) { j.Tries = MaxTries + 1 }, "attempts: it can be"},
		{func(j *Job) { j.MemoryMB = 0 }, "at least 1"},
		{func(j *Job) { j.VCores = -1 }, "at least 1"},
		{func(j *Job) { j.Environment = []string{"A"} }, "NAME=VALUE"},
		{func(j *Job) { j.Environment = []string{"a b=c"} }, "NAME=VALUE"},
		{func(j *Job) { j.Command = []string{"a\x00"} }, "zero byte"},
		{func(j *Job) { j.Command = []string{"a", strings.Repeat("'", MaxLine/3)} }, "send it with -file"},
	} {
		j := sample()
		x.spoil(j)
		if err := j.Check(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	j := sample()
	j.Files = map[string]client.File{"f": {Path: strings.Repeat("x", MaxJob)}}
	if _, err := j.Credentials(); err == nil || !strings.Contains(err.Error(), "the job takes") {
		t.Error(err)
	}
}

func TestOneWordIsALineForBash(t *testing.T) {
	j := sample()
	j.Command = []string{"echo $YARN_SHELL_CONTAINER of $YARN_SHELL_CONTAINERS try $YARN_SHELL_TRY | cat; echo $X"}
	j.Environment = []string{"X=y"}
	if got, code := node(t, t.TempDir(), j.line(1, 3)); got != "1 of 2 try 3\ny\n" || code != 0 {
		t.Errorf("%d %q", code, got)
	}
}

func TestTheMasterIsToldWhereToCall(t *testing.T) {
	for _, x := range []struct{ set, user, want string }{
		{"a=b", "0.0.0.0:8032", "0.0.0.0:8030"},
		{"a=b", "rm:8032", "rm:8030"},
		{"yarn.resourcemanager.hostname=other", "rm:8032", "other:8030"},
		{"yarn.resourcemanager.scheduler.address=s:1", "rm:8032", "s:1"},
		{"yarn.resourcemanager.scheduler.address=0.0.0.0:1", "rm:8032", "rm:1"},
		{"yarn.resourcemanager.ha.rm-ids=rm1,rm2 yarn.resourcemanager.ha.id=rm2 yarn.resourcemanager.scheduler.address.rm1=s1:1 yarn.resourcemanager.scheduler.address.rm2=s2:1", "s2:8032", "s2:1"},
		{"yarn.resourcemanager.ha.rm-ids=rm1,rm2 yarn.resourcemanager.ha.id=rm2 yarn.resourcemanager.hostname.rm1=h1 yarn.resourcemanager.hostname.rm2=h2", "h2:8032", "h2:8030"},
	} {
		j := &Job{Properties: Needed(properties(t, append(strings.Fields(x.set), "secret.password=x")...), x.user)}
		p, err := j.properties()
		must(t, err)
		if got := p.Get("yarn.resourcemanager.scheduler.address"); got != x.want || p.Get("secret.password") != "" {
			t.Errorf("%s, %s: %s, want %s", x.set, x.user, got, x.want)
		}
	}
}

func TestSecretsDiffer(t *testing.T) {
	if a, b := NewSecret(), NewSecret(); a == b || len(a) != 32 {
		t.Error(a, b)
	}
}
