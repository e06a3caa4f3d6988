package shell

import (
	"io/fs"
	"testing"

	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// properties are Hadoop's defaults with name=value pairs on top.
func properties(t *testing.T, pairs ...string) *conf.Properties {
	t.Helper()
	o := conf.Options{Read: func(path string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}}
	for _, p := range pairs {
		d, err := conf.ParseOverride(p)
		must(t, err)
		o.Overrides = append(o.Overrides, d)
	}
	p, err := conf.Load(o)
	must(t, err)
	return p
}

func sample() *Job {
	return &Job{User: "alice", Command: []string{"true"}, Containers: 2, MemoryMB: 64, VCores: 1, Tries: 2, Secret: "5ec2e7"}
}

var attempt = yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1000, Sequence: 7}, Attempt: 1}

func containerID(n int64) yarn.ContainerID { return yarn.ContainerID{Attempt: attempt, Number: n} }
