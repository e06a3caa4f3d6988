package java

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t testing.TB, file, text string) {
	t.Helper()
	// No other test may fork meanwhile: its child would have the file open for writing, and a program that is so cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil { //nolint:gosec // some are programs
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	write(t, at("jdk/bin/java"), "")
	write(t, at("jdk/release"), "JAVA_VERSION=\"11.0.2\"\n")
	write(t, at("hadoop/share/hadoop/common/hadoop-common.jar"), "")
	write(t, at("hadoop/share/hadoop/common/lib/guava.jar"), "")
	write(t, at("hadoop/share/hadoop/tools/lib/hadoop-aws.jar"), "")
	write(t, at("hadoop/share/hadoop/yarn/hadoop-yarn-server-nodemanager-3.5.0.jar"), "")
	write(t, at("hadoop/lib/native/libhadoop.so"), "")
	write(t, at("tests/hadoop-yarn-server-nodemanager-3.5.0-tests.jar"), "")
	common, lib, yarn, tools := at("hadoop/share/hadoop/common/*"), at("hadoop/share/hadoop/common/lib/*"), at("hadoop/share/hadoop/yarn/*"), at("hadoop/share/hadoop/tools/lib/*")
	java := "JAVA_HOME=" + at("jdk")
	for _, c := range []struct {
		env  []string
		want string // the class path, or what the error says
		bad  bool
	}{
		{nil, "JAVA_HOME", true},
		{[]string{"JAVA_HOME=" + at("none")}, "JAVA_HOME", true},
		{[]string{java}, "HADOOP_HOME or HADOOP_CLASSPATH", true},
		{[]string{java, "HADOOP_CLASSPATH=" + at("tests") + "/*:" + at("nowhere", "hadoop-yarn-server-nodemanager.jar")}, "HADOOP_HOME or HADOOP_CLASSPATH", true},
		{[]string{java, "HADOOP_HOME=" + at("jdk")}, "HADOOP_HOME or HADOOP_CLASSPATH", true},
		{[]string{java, "HADOOP_HOME=" + at("hadoop")}, lib + ":" + common + ":" + yarn, false},
		{[]string{java, "HADOOP_HOME=" + at("hadoop"), "HADOOP_OPTIONAL_TOOLS=hadoop-aws", "HADOOP_CLASSPATH=" + common + ":/nowhere.jar:" + java[len("JAVA_HOME="):]}, lib + ":" + common + ":" + yarn + ":" + tools + ":" + at("jdk"), false},
		{[]string{java, "HADOOP_COMMON_HOME=" + at("jdk"), "HADOOP_YARN_HOME=" + at("hadoop")}, yarn, false},
		{[]string{java, "HADOOP_CLASSPATH=" + at("hadoop/share/hadoop/yarn/hadoop-yarn-server-nodemanager-3.5.0.jar") + "::"}, at("hadoop/share/hadoop/yarn/hadoop-yarn-server-nodemanager-3.5.0.jar"), false},
	} {
		f := New(Config{Environ: c.env})
		r, err := Find(f.getenv, dir)
		if c.bad {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %+v %v, want %s", c.env, r, err, c.want)
			}
			continue
		}
		if err != nil || r.Path != dir+":"+c.want || r.Version != 11 || r.Java != at("jdk/bin/java") {
			t.Errorf("%q: %+v %v, want %s", c.env, r, err, c.want)
		}
		if home := f.getenv("HADOOP_HOME"); (r.Native == at("hadoop/lib/native")) != (home != "") {
			t.Errorf("%q: native %q", c.env, r.Native)
		}
	}
}

// scripted is a Fetcher whose Java is a script.
func scripted(t *testing.T, script string, change func(*Config)) *Fetcher {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "jdk/bin/java"), "#!/bin/bash\n"+script)
	write(t, filepath.Join(dir, "jdk/release"), "JAVA_VERSION=\"17\"\n")
	write(t, filepath.Join(dir, "hadoop-yarn-server-nodemanager-1.jar"), "")
	cfg := Config{Environ: []string{"JAVA_HOME=" + filepath.Join(dir, "jdk"), "HADOOP_CLASSPATH=" + dir + "/*", "PATH=" + os.Getenv("PATH")},
		Conf: func() string { return "" }, Address: func() string { return "127.0.0.1:1" }, User: "yarn", Dirs: func(localize.Job) (Dirs, error) {
			work, err := os.MkdirTemp(dir, "work")
			return Dirs{Local: []string{dir}, Work: work, Log: dir, Temporary: true}, err
		}}
	if change != nil {
		change(&cfg)
	}
	f := New(cfg)
	t.Cleanup(func() {
		f.Close()
		if left, _ := filepath.Glob(filepath.Join(dir, "work*")); len(left) != 0 || len(f.crews)+len(f.processes) != 0 {
			t.Errorf("left: %q %v %v", left, f.crews, f.processes)
		}
	})
	return f
}

func job(container int64, name string, who localize.Visibility) localize.Job {
	scheme, file := "fake", "/"+name
	app := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	return localize.Job{Request: localize.Request{URL: filesystem.URL{Scheme: scheme, Path: file}, Type: localize.File, Visibility: who}, Dest: "/dest/10", User: "ann",
		Container: yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: container},
		Resource: &pb.LocalResource{Resource: &pb.URL{Scheme: &scheme, File: &file}, Timestamp: new(int64(0)), Type: pb.LocalResourceType_FILE.Enum(),
			Visibility: pb.LocalResourceVisibility(who).Enum()}}
}

func fetch(t *testing.T, f *Fetcher, ctx context.Context, j localize.Job, want string) {
	t.Helper()
	if file, err := f.Fetch(ctx, j); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q %v, want %s", file, err, want)
	}
}

// TestEnds: processes that say nothing, or end by themselves.
func TestEnds(t *testing.T) {
	t.Parallel()
	background := context.Background()
	f := scripted(t, "sleep 1000 & wait", func(c *Config) { c.Silence = 100 * time.Millisecond })
	fetch(t, f, background, job(1, "a", localize.Private), "nothing was heard of it for 100ms")
	f = scripted(t, "head -c 100000 /dev/zero | tr '\\0' x; echo; echo no luck; exit 0", nil)
	fetch(t, f, background, job(1, "a", localize.Private), "ended before it was told to. Last bytes of its output:\nx")
	fetch(t, f, background, job(2, "a", localize.Private), "x\nno luck")
	f = scripted(t, "kill -9 $$", nil)
	fetch(t, f, background, job(1, "a", localize.Public), "signal: killed")
	bad := job(1, "a", localize.Private)
	bad.Tokens = []byte("no credentials")
	fetch(t, f, background, bad, "the container's credentials")
	f = scripted(t, "", func(c *Config) {
		c.Dirs = func(localize.Job) (Dirs, error) { return Dirs{}, errors.New("no disk is good") }
	})
	fetch(t, f, background, job(1, "a", localize.Private), "no disk is good")
}

// TestCancelled: what nobody wants any more ends at once, whether its process runs or waits for a place; and so does all with
// the daemon.
func TestCancelled(t *testing.T) {
	t.Parallel()
	f := scripted(t, "sleep 1000 & wait", func(c *Config) { c.Processes = 1 })
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	for i := range int64(3) {
		go func() {
			defer func() { done <- struct{}{} }()
			fetch(t, f, ctx, job(i, fmt.Sprint(i), localize.Private), "stopped")
		}()
	}
	running := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.processes) == 1
	}
	for !running() {
		time.Sleep(time.Millisecond)
	}
	cancel(errors.New("stopped"))
	for range 3 {
		<-done
	}
	go func() {
		defer func() { done <- struct{}{} }()
		fetch(t, f, context.Background(), job(9, "x", localize.Private), errClosed.Error())
	}()
	for !running() {
		time.Sleep(time.Millisecond)
	}
	f.Close()
	<-done
	fetch(t, f, context.Background(), job(9, "x", localize.Private), errClosed.Error())
}

// TestCancelledBeforeTheStart: a fetch has not ended while directories are made for it, for they would be left.
func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	f := scripted(t, "exit 1", func(c *Config) {
		make := c.Dirs
		c.Dirs = func(j localize.Job) (Dirs, error) {
			close(entered)
			<-release
			return make(j)
		}
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fetch(t, f, ctx, job(1, "a", localize.Private), "stopped")
	}()
	<-entered
	cancel(errors.New("stopped"))
	for late := 0; late == 0; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		for _, c := range f.crews {
			late = len(c.late)
		}
		f.mu.Unlock()
	}
	select {
	case <-done:
		t.Error("it has ended")
	default:
	}
	close(release)
	<-done
}

// TestBeat plays a process that is not there.
func TestBeat(t *testing.T) {
	t.Parallel()
	f := scripted(t, "sleep 1000 & wait", nil)
	type got struct {
		file string
		err  error
	}
	results := map[string]chan got{}
	add := func(name string, who localize.Visibility) {
		done := make(chan got, 1)
		results[name] = done
		go func() {
			file, err := f.Fetch(context.Background(), job(1, name, who))
			done <- got{file, err}
		}()
	}
	known := func() *process {
		for {
			f.mu.Lock()
			for _, p := range f.processes {
				if len(p.crew.queue) == 2 || p.current != nil {
					f.mu.Unlock()
					return p
				}
			}
			f.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	}
	add("a", localize.Private)
	add("b", localize.Private)
	p := known()
	if password, user, err := f.Password(p.identifier); err != nil || len(password) < 16 || user != p.id {
		t.Errorf("%q %v", user, err)
	}
	beat := func(id string, list ...*pb.LocalResourceStatus) *pb.LocalizerHeartbeatResponse {
		return f.Beat(p.identifier, &pb.LocalizerStatus{LocalizerId: &id, Resources: list})
	}
	if r := beat("container_other"); r.GetAction() != pb.LocalizerAction_DIE {
		t.Errorf("under another name: %v", r)
	}
	if r := f.Beat([]byte{0, 0, 0, 1}, &pb.LocalizerStatus{LocalizerId: &p.id}); r.GetAction() != pb.LocalizerAction_DIE {
		t.Errorf("with another token: %v", r)
	}
	first := beat(p.id)
	if first.GetAction() != pb.LocalizerAction_LIVE || len(first.Resources) != 1 || first.Resources[0].GetDestinationDirectory().GetFile() != "/dest/10" {
		t.Fatalf("first: %v", first)
	}
	one := first.Resources[0].Resource
	status := func(r *pb.LocalResource, s pb.ResourceStatusType, file string) *pb.LocalResourceStatus {
		return &pb.LocalResourceStatus{Resource: r, Status: s.Enum(), LocalPath: &pb.URL{File: &file}, Exception: &pb.SerializedException{Message: new("why"), Trace: new(strings.Repeat("x", 2*maxReason))}}
	}
	pending := status(one, pb.ResourceStatusType_FETCH_PENDING, "")
	stranger := status(job(1, "other", localize.Private).Resource, pb.ResourceStatusType_FETCH_FAILURE, "")
	if r := beat(p.id, pending, stranger, &pb.LocalResourceStatus{}); r.GetAction() != pb.LocalizerAction_LIVE || len(r.Resources) != 0 {
		t.Errorf("pending: %v", r)
	}
	second := beat(p.id, status(one, pb.ResourceStatusType_FETCH_SUCCESS, "/dest/10/it"))
	if second.GetAction() != pb.LocalizerAction_LIVE || len(second.Resources) != 1 {
		t.Fatalf("second: %v", second)
	}
	name := strings.TrimPrefix(one.GetResource().GetFile(), "/")
	if g := <-results[name]; g.err != nil || g.file != "/dest/10/it" {
		t.Errorf("%+v", g)
	}
	add("c", localize.Private)
	other := second.Resources[0].Resource
	if r := beat(p.id, status(other, pb.ResourceStatusType_FETCH_FAILURE, "")); r.GetAction() != pb.LocalizerAction_DIE {
		t.Errorf("after a failure: %v", r)
	}
	if g := <-results[strings.TrimPrefix(other.GetResource().GetFile(), "/")]; g.err == nil || !strings.HasPrefix(g.err.Error(), "why\nxxx") || len(g.err.Error()) > maxReason+8 {
		t.Errorf("%+v", g)
	}
	if r := beat(p.id); r.GetAction() != pb.LocalizerAction_DIE {
		t.Errorf("dead ones stay dead: %v", r)
	}
	f.Close() // c has not come
	if g := <-results["c"]; g.err == nil {
		t.Errorf("%+v", g)
	}
}

// FuzzBeat: whatever a process says, it gets an answer, and one that fits.
func FuzzBeat(f *testing.F) {
	f.Add("a", "/dest/10/a", int32(2), "why")
	f.Fuzz(func(t *testing.T, name, file string, state int32, why string) {
		x := New(Config{})
		o := &order{Job: job(1, "a", localize.Private), done: make(chan outcome, 1)}
		c := &crew{f: x}
		p := &process{crew: c, id: "id", identifier: []byte("i"), ctx: context.Background(), current: o}
		o.by = p
		x.processes["i"] = p
		r := job(1, "a", localize.Private).Resource
		r.Resource.File = &name
		s := &pb.LocalResourceStatus{Resource: r, Status: new(pb.ResourceStatusType(state)), LocalPath: &pb.URL{File: &file}, Exception: &pb.SerializedException{Message: &why}}
		answer := x.Beat(p.identifier, &pb.LocalizerStatus{LocalizerId: &p.id, Resources: []*pb.LocalResourceStatus{s, s, s}})
		if answer.GetAction() == 0 || len(answer.Resources) != 0 || p.current == nil && len(o.done) != 1 || p.current != nil && len(o.done) != 0 {
			t.Fatalf("%v, then %v and %d outcomes", answer, p.current, len(o.done))
		}
	})
}
