package nodemanager

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
)

// refused checks that a container is not started, with the class and part of the text that its master is told.
func (w *world) refused(why string, t *ipc.Token, r *pb.StartContainerRequest, class, text string) {
	w.Helper()
	out := &pb.StartContainersResponse{}
	err := w.asks(t, "startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{r}}, out)
	var remote *ipc.RemoteError
	switch {
	case errors.As(err, &remote):
	case err == nil && len(out.FailedRequests) == 1 && len(out.SucceededRequests) == 0:
		e := out.FailedRequests[0].GetException()
		remote = &ipc.RemoteError{Class: e.GetClassName(), Message: e.GetMessage()}
	default:
		w.Errorf("%s: %v %v", why, out, err)
		return
	}
	if remote.Class != class || !strings.Contains(remote.Message, text) {
		w.Errorf("%s: got %s: %s\nwant %s: %s", why, remote.Class, remote.Message, class, text)
	}
}

// names lists a directory.
func names(path string) (out []string) {
	list, _ := os.ReadDir(path)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// Tokens that are not good for this node and this container start nothing, and users whose names lead elsewhere have nothing.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch()
	w.works()
	me := token.NM{Attempt: w.attempt(), Node: w.node(), Submitter: "ann"}
	for name, c := range map[string]struct {
		change func(*token.NM)
		text   string
	}{
		"another node's": {func(x *token.NM) { x.Node.Port++ }, "is not valid for current node manager"},
		"unknown key":    {func(x *token.NM) { x.KeyID = 77 }, "should not be used"},
	} {
		who := me
		c.change(&who)
		w.refused("node token, "+name, w.rm.introduce(who), w.request(w.next(), "true"), ipc.ClassInvalidToken, c.text)
	}
	forged := w.rm.introduce(me)
	forged.Password = bytes.Repeat([]byte{1}, 20)
	if err := w.asks(forged, "startContainers", &pb.StartContainersRequest{}, &pb.StartContainersResponse{}); err == nil {
		t.Error("a forged node token was taken")
	}
	for name, c := range map[string]struct {
		change      func(*token.Container)
		class, text string
	}{
		"another node's":        {func(x *token.Container) { x.NodeAddress = "elsewhere:1" }, ipc.ClassInvalidToken, "is not valid for current Node manager"},
		"unknown key":           {func(x *token.Container) { x.KeyID = 77 }, ipc.ClassInvalidToken, "illegally"},
		"expired":               {func(x *token.Container) { x.Expires = time.Now().UnixMilli() - 1 }, serve.YarnException, "This token is expired."},
		"an earlier manager's":  {func(x *token.Container) { x.Issuer-- }, serve.InvalidContainer, "previous RM"},
		"another application's": {func(x *token.Container) { x.ID.Attempt.Application.Sequence++ }, serve.YarnException, "NMToken for application attempt"},
		"the one above":         {func(x *token.Container) { x.Submitter = ".." }, serve.YarnException, "cannot have directories"},
		"the same":              {func(x *token.Container) { x.Submitter = "." }, serve.YarnException, "cannot have directories"},
		"far away":              {func(x *token.Container) { x.Submitter = "../../../etc" }, serve.YarnException, "cannot have directories"},
		"nobody":                {func(x *token.Container) { x.Submitter = "" }, serve.YarnException, "cannot have directories"},
		"two lines":             {func(x *token.Container) { x.Submitter = "a\nb" }, serve.YarnException, "cannot have directories"},
		"endless":               {func(x *token.Container) { x.Submitter = strings.Repeat("x", 300) }, serve.YarnException, "cannot have directories"},
		"another than before":   {func(x *token.Container) { x.Submitter = "bob" }, serve.YarnException, "is ann's"},
	} {
		w.refused("container token, "+name, w.token(), w.request(w.next(), "true", c.change), c.class, c.text)
	}
	r := w.request(w.next(), "true")
	r.ContainerToken.Password[0] ^= 1
	w.refused("forged container token", w.token(), r, ipc.ClassInvalidToken, "Invalid container token")
	w.replays()
	w.works()
	if got := names(w.path("local/usercache")); len(got) != 1 || got[0] != "ann" {
		t.Errorf("these users have directories: %v", got)
	}
}

// replays starts a container again with its own token: while it runs, after its end, and when nobody speaks of it any more.
func (w *world) replays() {
	w.Helper()
	n := w.next()
	r := w.request(n, "echo again >> ../times; until [ -e go ]; do "+withTest+"sleep 0.02; done")
	w.accepted(r)
	id := w.id(n)
	work := w.path("local/usercache/ann/appcache", w.app.String())
	await(w, "the container runs", func() bool { return exists(filepath.Join(work, "times")) })
	const text = "Attempt to relaunch the same container with id"
	w.refused("while it runs", w.token(), r, serve.YarnException, text)
	if err := os.WriteFile(filepath.Join(work, id.String(), "go"), nil, 0o600); err != nil {
		w.Fatal(err)
	}
	w.exits(id, 0)
	w.refused("after its end", w.token(), r, serve.YarnException, text)
	w.rm.acknowledge(id)
	w.refused("when it is forgotten", w.token(), r, serve.YarnException, text)
	w.rm.roll()
	w.refused("when the keys have changed", w.token(), r, serve.YarnException, text)
	if times, err := os.ReadFile(filepath.Join(work, "times")); err != nil || string(times) != "again\n" {
		w.Errorf("it has run %q %v", times, err)
	}
}

// zipped is a zip file with such entries; announced is how many it says it has, if that is not 0.
func zipped(t testing.TB, announced uint64, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range entries {
		if f, err := z.Create(name); err != nil {
			t.Fatal(err)
		} else if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if announced == 0 {
		return b.Bytes()
	}
	out := b.Bytes()
	end := bytes.Clone(out[len(out)-22:])
	out = out[:len(out)-22]
	wide := make([]byte, 56+20) // the end record and its locator in zip's wide form
	copy(wide, "PK\x06\x06")
	binary.LittleEndian.PutUint64(wide[4:], 44)
	binary.LittleEndian.PutUint64(wide[24:], announced)
	binary.LittleEndian.PutUint64(wide[32:], announced)
	copy(wide[56:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(wide[64:], uint64(len(out)))
	wide[72] = 1
	binary.LittleEndian.PutUint16(end[8:], 0xffff)
	binary.LittleEndian.PutUint16(end[10:], 0xffff)
	return append(append(out, wide...), end...)
}

// Archives that would write elsewhere, or never end, end their containers and nothing else.
func TestArchives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch()
	victim := w.file("victim/precious", []byte("untouched"))
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	text := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	for _, c := range []struct {
		name    string
		content []byte
		says    string
	}{
		{"upwards.tar.gz", packed(t, text("../../precious")), "would be outside"},
		{"within.tar.gz", packed(t, text("a/../../precious")), "would be outside"},
		{"through.tar.gz", packed(t, link("out", filepath.Dir(victim)), text("out/precious")), "out/precious"},
		{"twice.tar.gz", packed(t, link("one", ".."), link("one/two", ".."), text("one/two/precious")), "escapes"},
		{"hard.tar.gz", packed(t, tar.Header{Name: "precious", Linkname: "../../../../../../../etc/passwd", Typeflag: tar.TypeLink}), "would be outside"},
		{"pipe.tar.gz", packed(t, tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}), "neither a file"},
		{"deep.tar.gz", packed(t, text(strings.Repeat("d/", 101)+"precious")), "directories deep"},
		{"upwards.zip", zipped(t, 0, "../../precious"), "would be outside"},
		{"bomb.zip", zipped(t, 1_000_001, "a"), "the directory of entries is too large"},
		{"cut.tar.gz", packed(t, text("one"), text("two"))[:60], "unexpected EOF"},
		{"rubbish.zip", []byte("this is no zip file, whatever its name says"), "not a valid zip file"},
	} {
		n := w.next()
		r := w.request(n, "true")
		r.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{
			resource(t, "a", w.file(c.name, c.content), pb.LocalResourceType_ARCHIVE, pb.LocalResourceVisibility_PRIVATE)}
		w.accepted(r)
		w.exits(w.id(n), -1000, c.says, c.name)
	}
	w.keepsLinks(link("away", filepath.Dir(victim)))
	changed := w.request(w.next(), "true")
	changed.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{resource(t, "a", victim, pb.LocalResourceType_FILE, pb.LocalResourceVisibility_PRIVATE)}
	changed.ContainerLaunchContext.LocalResources[0].Value.Timestamp = proto.Int64(1)
	w.accepted(changed)
	w.exits(w.id(w.last.Load()), -1000, "changed on src filesystem")
	outside := w.request(w.next(), "true")
	outside.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{resource(t, "../../a", victim, pb.LocalResourceType_FILE, pb.LocalResourceVisibility_PRIVATE)}
	w.refused("a link outside", w.token(), outside, serve.YarnException, "leads out of the container's working directory")
	w.works()
	w.rm.finish(w.app)
	w.gone()
	if content, err := os.ReadFile(victim); err != nil || string(content) != "untouched" {
		t.Errorf("the victim is %q %v", content, err)
	}
	if found := names(w.path("local/usercache/ann/filecache")); len(found) != 1 {
		t.Errorf("the cache has more than the one archive that was good: %v", found)
	}
}

// keepsLinks: a link out of its archive is kept, as programs that come packed need it, and never followed: what it leads to
// outlives a container that deletes what it can of it, and the application.
func (w *world) keepsLinks(link tar.Header) {
	w.Helper()
	n := w.next()
	r := w.request(n, "readlink good/away")
	r.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{
		resource(w, "good", w.file("good.tar.gz", packed(w, link)), pb.LocalResourceType_ARCHIVE, pb.LocalResourceVisibility_PRIVATE)}
	w.accepted(r)
	w.exits(w.id(n), 0)
	if got := w.output(w.id(n), "stdout"); got != link.Linkname+"\n" {
		w.Errorf("the link leads to %q", got)
	}
}

// Whatever name is asked for over HTTP, nothing comes but a container's own log files.
func TestLogNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.file("secret", []byte("not for you"))
	id := w.runs(`cd "$LOG_DIRS"; ln -s ` + secret + ` link; ln -s ` + filepath.Dir(secret) + ` dir; mkfifo pipe; echo 'a<script>b' > '<b>'; echo ready; sleep 1000`)
	w.printed(id, "ready")
	for _, name := range []string{"..", "../../../files/secret", "..%2f..%2f..%2ffiles%2fsecret", "%2e%2e/%2e%2e/%2e%2e/files/secret", "%2e%2e%2f%2e%2e%2f%2e%2e%2ffiles%2fsecret",
		"..%5c..%5cfiles%5csecret", secret, strings.ReplaceAll(secret, "/", "%2f"), "link", "dir", "dir%2fsecret", "dir/secret", "pipe", "stdout%00", "%00", strings.Repeat("x", 4000),
		"stdout?start=-9223372036854775808", "stdout?size=99999999999999999999"} {
		for _, path := range []string{"/ws/v1/node/containers/" + id.String() + "/logs/", "/ws/v1/node/containerlogs/" + id.String() + "/", "/node/containerlogs/" + id.String() + "/ann/"} {
			status, body, err := w.get(path + name)
			if err != nil || strings.Contains(body, "not for you") || status >= 500 && status != http.StatusServiceUnavailable {
				t.Errorf("%s%.60s: %d %v %s", path, name, status, err, body)
			}
		}
	}
	for _, path := range []string{"/node/containerlogs/" + id.String() + "/ann", "/node/containerlogs/" + id.String() + "/ann/%3Cb%3E/?start=0"} {
		if status, body, err := w.get(path); err != nil || status != http.StatusOK || strings.Contains(body, "<script>b") || strings.Contains(body, "<b>") {
			t.Errorf("%s: %d %v %s", path, status, err, body)
		}
	}
	for _, path := range []string{"/ws/v1/node/containers/container_1_0001_01_99999999999999999999/logs", "/ws/v1/node/apps/..%2f..", "/node/application/%3Cscript%3E", "/ws/v1/node/containers/" + strings.Repeat("9", 5000)} {
		if status, body, err := w.get(path); err != nil || status < 400 || status >= 500 || strings.Contains(body, "<script>") {
			t.Errorf("%.80s: %d %v %s", path, status, err, body)
		}
	}
	w.stop(id)
	w.exits(id, -105)
	w.works()
}
