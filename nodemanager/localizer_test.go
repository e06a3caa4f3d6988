package nodemanager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/rpc/localizer"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// fakeVariable makes the test binary a localizer process, in the place of Java: it names a file to which that tells what it
// was given.
const fakeVariable = "HEDDLE_TEST_LOCALIZER"

func init() {
	if file := os.Getenv(fakeVariable); file != "" {
		if err := fakeLocalizer(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// fakePause is between two heartbeats of a fake localizer.
const fakePause = 20 * time.Millisecond

// fakeLocalizer does what ContainerLocalizer does. The host of a resource's URL says how that goes.
func fakeLocalizer(file string) error {
	at := slices.IndexFunc(os.Args, func(a string) bool { return strings.HasSuffix(a, ".ContainerLocalizer") })
	if at < 0 || len(os.Args) < at+8 {
		return fmt.Errorf("started with %q", os.Args)
	}
	user, id, address, tokens := os.Args[at+1], os.Args[at+3], net.JoinHostPort(os.Args[at+4], os.Args[at+5]), os.Args[at+6]
	text, err := os.ReadFile(tokens)
	if err != nil {
		return err
	}
	credentials, err := token.ParseCredentials(text)
	if err != nil {
		return err
	}
	var aliases []string
	for _, t := range credentials.Tokens {
		aliases = append(aliases, t.Alias)
	}
	line := fmt.Sprintf("%d %s %s %s %s\n", os.Getpid(), user, id, strings.Join(aliases, ","), strings.Join(os.Args[1:], " "))
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = log.WriteString(line)
	}
	if err != nil {
		return err
	}
	login, ok := credentials.OfKind(token.KindLocalizer)
	if !ok {
		return errors.New("no token of mine")
	}
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: user, Tokens: func(string) *ipc.Token {
		return &ipc.Token{Kind: login.Kind, Identifier: login.Identifier, Password: login.Password}
	}}, Timeout: patience, RefuseSimple: true})
	status := &pb.LocalizerStatus{LocalizerId: &id}
	for {
		body, _ := proto.Marshal(status)
		answer, err := c.Call(context.Background(), address, localizer.Name, "heartbeat", body)
		if err != nil {
			return err
		}
		r := &pb.LocalizerHeartbeatResponse{}
		if err := proto.Unmarshal(answer, r); err != nil || r.GetAction() == pb.LocalizerAction_DIE {
			return err
		}
		status.Resources = slices.DeleteFunc(status.Resources, func(s *pb.LocalResourceStatus) bool { return s.GetStatus() != pb.ResourceStatusType_FETCH_PENDING })
		for _, x := range r.Resources {
			if x.Resource.GetResource().GetHost() != "hangs" {
				_ = os.Remove(tokens)
			}
			status.Resources = append(status.Resources, fakeFetch(x))
		}
		if len(r.Resources) == 0 {
			time.Sleep(fakePause)
		}
	}
}

func fakeFetch(x *pb.ResourceLocalizationSpec) *pb.LocalResourceStatus {
	dest := x.GetDestinationDirectory().GetFile()
	path := filepath.Join(dest, filepath.Base(x.Resource.GetResource().GetFile()))
	s := &pb.LocalResourceStatus{Resource: x.Resource, Status: pb.ResourceStatusType_FETCH_SUCCESS.Enum(), LocalPath: &pb.URL{Scheme: proto.String("file"), File: &path}}
	err := os.Mkdir(dest, 0o755)
	switch x.Resource.GetResource().GetHost() {
	case "good":
		err = errors.Join(err, os.WriteFile(path, []byte("content of "+path+"\n"), 0o777))
	case "tree":
		err = errors.Join(err, os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "inside"), []byte("inside\n"), 0o666),
			os.Symlink("/etc/hosts", filepath.Join(path, "link")), os.Mkdir(filepath.Join(path, "deep"), 0o700), os.Chmod(filepath.Join(path, "deep"), 0))
	case "fails":
		return &pb.LocalResourceStatus{Resource: x.Resource, Status: pb.ResourceStatusType_FETCH_FAILURE.Enum(),
			Exception: &pb.SerializedException{Message: proto.String("no such bucket"), Trace: proto.String("java.io.IOException: no such bucket\n\tat Here.there")}}
	case "hangs":
		s.Status = pb.ResourceStatusType_FETCH_PENDING.Enum()
		err = errors.Join(err, os.Mkdir(dest+"_tmp", 0o755))
	case "dies":
		fmt.Println("out of luck")
		os.Exit(3)
	case "lies":
		s.LocalPath.File = proto.String("/etc/hosts")
	case "nothing":
	case "leads":
		err = errors.Join(err, os.Symlink("/etc/hosts", path))
	case "pipe":
		err = errors.Join(err, syscall.Mkfifo(path, 0o600))
	}
	if err != nil {
		s.Status, s.Exception = pb.ResourceStatusType_FETCH_FAILURE.Enum(), &pb.SerializedException{Message: proto.String(err.Error())}
	}
	return s
}

// foreignWorld is one with fake localizers; started are their lines.
func foreignWorld(t *testing.T, settings ...string) (w *world, started func() [][]string) {
	t.Helper()
	w = quietWorld(t, settings...)
	java, jar, log := w.path("jdk/bin/java"), w.path("jars/hadoop-yarn-server-nodemanager-3.5.0.jar"), w.path("localizers")
	script := fmt.Sprintf("#!/bin/sh\n%s=%q exec %q \"$@\"\n", fakeVariable, log, os.Args[0])
	// No other test may fork meanwhile: its child would have the program open for writing, and such a file cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for file, text := range map[string]string{java: script, jar: "", w.path("jdk/release"): "JAVA_VERSION=\"17.0.1\"\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	w.site[testEnvironment] = "JAVA_HOME=" + w.path("jdk") + " HADOOP_CLASSPATH=" + w.path("jars") + "/*"
	return w, func() (out [][]string) {
		text, _ := os.ReadFile(log)
		for line := range strings.Lines(string(text)) {
			out = append(out, strings.SplitN(strings.TrimSpace(line), " ", 5))
		}
		return out
	}
}

// foreign is a resource that only a localizer can fetch.
func foreign(name, url string, who pb.LocalResourceVisibility) *pb.StringLocalResourceMap {
	host, file, _ := strings.Cut(url, "/")
	file = "/" + file
	return &pb.StringLocalResourceMap{Key: &name, Value: &pb.LocalResource{Resource: &pb.URL{Scheme: proto.String("fake"), Host: &host, Port: proto.Int32(-1), File: &file},
		Size: proto.Int64(1), Timestamp: proto.Int64(7), Type: pb.LocalResourceType_FILE.Enum(), Visibility: who.Enum()}}
}

// wants starts a container with resources.
func (w *world) wants(script string, list ...*pb.StringLocalResourceMap) yarn.ContainerID {
	w.Helper()
	n := w.next()
	r := w.request(n, script)
	r.ContainerLaunchContext.LocalResources = list
	own := token.Credentials{Tokens: []token.NamedToken{{Alias: "mine", Token: token.Token{Kind: "any"}}}}
	r.ContainerLaunchContext.Tokens = own.Append(nil)
	w.accepted(r)
	return w.id(n)
}

// stray are files and directories of localizers and of fetches that should not be there.
func (w *world) stray() (out []string) {
	_ = filepath.WalkDir(w.path("local"), func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tokens") && !strings.HasSuffix(path, "container_tokens") || strings.HasSuffix(path, temporary) || strings.HasSuffix(path, "_tmp") {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// TestForeign: resources of every visibility, two containers that share some of them.
func TestForeign(t *testing.T) {
	t.Parallel()
	w, started := foreignWorld(t)
	w.start()
	all := func() []*pb.StringLocalResourceMap {
		return []*pb.StringLocalResourceMap{foreign("a", "good/x/a.txt", pb.LocalResourceVisibility_APPLICATION),
			foreign("b", "good/x/b.txt", pb.LocalResourceVisibility_PRIVATE), foreign("c", "tree/x/c.tar", pb.LocalResourceVisibility_PUBLIC)}
	}
	const script = "cat a b c/inside; stat -Lc %a a c c/inside c/deep; readlink c/link"
	first, second := w.wants(script, all()...), w.wants(script, all()...)
	for _, id := range []yarn.ContainerID{first, second} {
		w.exits(id, 0)
		app := w.path("local/usercache/ann/appcache", w.app.String(), "filecache/10/a.txt")
		want := fmt.Sprintf("content of %s\ncontent of %s\ninside\n500\n755\n555\n755\n/etc/hosts\n", app, w.path("local/usercache/ann/filecache/10/b.txt"))
		if got := w.output(id, "stdout"); got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	await(t, "nothing is left of the localizers", func() bool { return len(w.stray()) == 0 })
	lines := started()
	slices.SortFunc(lines, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	if len(lines) != 2 || lines[0][1] != "ann" || lines[0][2] != first.String() || lines[0][3] != "mine,Localizer" || lines[1][3] != "Localizer" {
		t.Fatalf("started: %q", lines)
	}
	for _, part := range []string{"-classpath " + w.path("jars") + "/* -Xmx256m --add-exports=java.base/sun.net.dns=ALL-UNNAMED ", " -Dhadoop.root.logger=INFO,CLA ",
		" -Dyarn.app.container.log.dir=" + w.path("logs", w.app.String(), first.String()) + " ", " ann " + w.app.String() + " " + first.String() + " 127.0.0.1 "} {
		if !strings.Contains(lines[0][4], part) {
			t.Errorf("%q lacks %q", lines[0][4], part)
		}
	}
	if m := w.daemon.Metrics(); m.CacheMissFiles+m.CacheHitFiles != 6 || m.CacheMissFiles < 3 || m.CacheMissBytes == 0 {
		t.Errorf("counted: %+v", m)
	}
}

// TestForeignFailures: whatever goes wrong ends the container with a reason, and leaves nothing.
func TestForeignFailures(t *testing.T) {
	t.Parallel()
	w, started := foreignWorld(t)
	w.start()
	for host, why := range map[string]string{"fails": "no such bucket\njava.io.IOException: no such bucket\n\tat Here.there", "dies": "exit status 3. Last bytes of its output:\nout of luck",
		"lies": "said to be at \"/etc/hosts\" instead of ", "nothing": "no such file", "leads": "neither a file nor a directory", "pipe": "neither a file nor a directory"} {
		url := host + "/x/" + host
		who := pb.LocalResourceVisibility_PRIVATE
		if host == "dies" {
			who = pb.LocalResourceVisibility_PUBLIC
		}
		w.exits(w.wants("true", foreign("r", url, who)), -1000, "localize fake://"+url, why)
	}
	await(t, "nothing is left", func() bool {
		found, _ := filepath.Glob(w.path("local/usercache/ann/filecache/*"))
		public, _ := filepath.Glob(w.path("local/filecache/*"))
		return len(found)+len(public)+len(w.stray()) == 0
	})
	if n := len(started()); n != 6 {
		t.Errorf("%d localizers", n)
	}
	w.works()
	// What others want still comes, by a localizer of its own.
	id := w.wants("cat r", foreign("r", "good/x/again", pb.LocalResourceVisibility_PRIVATE))
	w.exits(id, 0)
}

// TestForeignKill: a container that ends while its resources are fetched takes the localizer with it.
func TestForeignKill(t *testing.T) {
	t.Parallel()
	w, started := foreignWorld(t)
	w.start()
	id := w.wants("true", foreign("r", "hangs/x/r", pb.LocalResourceVisibility_APPLICATION), foreign("s", "good/x/s", pb.LocalResourceVisibility_PRIVATE))
	half := func() bool {
		found, _ := filepath.Glob(w.path("local/usercache/ann/appcache", w.app.String(), "filecache/*_tmp"))
		return len(found) == 1
	}
	await(t, "it hangs", half)
	w.stop(id)
	w.exits(id, -105)
	await(t, "the localizer has ended", func() bool { return !exists("/proc/"+started()[0][0]) && len(w.stray()) == 0 })
	next := w.wants("true", foreign("r", "hangs/x/r", pb.LocalResourceVisibility_APPLICATION))
	await(t, "it hangs again", half)
	w.rm.finish(w.app)
	w.gone()
	if s := w.rm.latest(next); s.GetState() == pb.ContainerState_C_COMPLETE && s.GetExitStatus() != -107 {
		t.Errorf("a container of an ended application: %v", s)
	}
	await(t, "all localizers have ended", func() bool {
		return !slices.ContainsFunc(started(), func(l []string) bool { return exists("/proc/" + l[0]) })
	})
}

// TestForeignDaemonKilled: localizers end with the daemon, and what they leave goes in its next life.
func TestForeignDaemonKilled(t *testing.T) {
	t.Parallel()
	w, started := foreignWorld(t, "yarn.nodemanager.recovery.enabled", "true")
	w.fixPort()
	w.spawn()
	w.wants("true", foreign("r", "hangs/x/r", pb.LocalResourceVisibility_APPLICATION))
	w.wants("true", foreign("p", "hangs/x/p", pb.LocalResourceVisibility_PUBLIC))
	await(t, "they hang", func() bool { return len(started()) == 2 && len(w.stray()) == 5 }) // two fetches, two files of credentials, one directory
	before := w.stray()
	w.end()
	await(t, "the localizers have ended", func() bool {
		return !slices.ContainsFunc(started(), func(l []string) bool { return exists("/proc/" + l[0]) })
	})
	w.spawn()
	await(t, "they hang again", func() bool { return len(started()) == 4 && len(w.stray()) == 5 })
	for _, path := range before {
		if slices.Contains(w.stray(), path) && !strings.HasSuffix(path, "_tmp") {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestForeignWithoutJava: the reason says what to set.
func TestForeignWithoutJava(t *testing.T) {
	t.Parallel()
	w, started := foreignWorld(t)
	w.site[testEnvironment] = "JAVA_HOME=" + w.path("none")
	w.start()
	w.exits(w.wants("true", foreign("r", "good/x/r", pb.LocalResourceVisibility_PUBLIC)), -1000, "file, http, https and hdfs", "JAVA_HOME")
	w.daemon.Stop()
	w.daemon = nil
	w.site[testEnvironment] = "JAVA_HOME=" + w.path("jdk") + " HADOOP_HOME=" + w.dir
	w.start()
	w.exits(w.wants("true", foreign("r", "good/x/r", pb.LocalResourceVisibility_PUBLIC)), -1000, "set HADOOP_HOME or HADOOP_CLASSPATH")
	if n := len(started()); n != 0 {
		t.Errorf("%d localizers", n)
	}
}

// TestStrangers are told to end, or not let in.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(login *ipc.Token) ([]byte, error) {
		c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "ann", Tokens: func(string) *ipc.Token { return login }}, Timeout: patience})
		defer c.Close()
		body, _ := proto.Marshal(&pb.LocalizerStatus{LocalizerId: proto.String(w.id(1).String())})
		return c.Call(t.Context(), "127.0.0.1:"+strconv.Itoa(w.daemon.localizers.Port), localizer.Name, "heartbeat", body)
	}
	answer, err := ask(nil)
	r := &pb.LocalizerHeartbeatResponse{}
	if err == nil {
		err = proto.Unmarshal(answer, r)
	}
	if err != nil || r.GetAction() != pb.LocalizerAction_DIE {
		t.Errorf("%v %v", r, err)
	}
	if _, err := ask(&ipc.Token{Kind: token.KindLocalizer, Identifier: []byte{0, 0, 0, 1}, Password: []byte("guess")}); err == nil || !strings.Contains(err.Error(), "no such localizer") {
		t.Errorf("a token out of nowhere: %v", err)
	}
}
