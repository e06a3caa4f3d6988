package nodemanager

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/nodemanager/store"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// forgets has the node's store lose the records of some containers while the node is not there.
func (w *world) forgets(lost ...yarn.ContainerID) {
	w.Helper()
	kept, err := store.Open(w.site["yarn.nodemanager.recovery.dir"])
	if err != nil {
		w.Fatal(err)
	}
	var ops []state.Op
	for _, id := range lost {
		ops = append(ops, state.DropContainer{ID: id})
	}
	if err := errors.Join(kept.Commit(ops), kept.Close()); err != nil {
		w.Fatal(err)
	}
}

// A node whose store has lost something ends all that it does not know of, and only then deletes what tells it where that
// is: those that it knows of go on.
func TestKilledAndForgotten(t *testing.T) {
	t.Parallel()
	const half = 20
	w := lasting(t)
	w.spawn()
	var list []*pb.StartContainerRequest
	for range 2 * half {
		r := w.request(w.next(), `echo ready; exec sleep 1000`)
		r.ContainerLaunchContext.Environment = []*pb.StringStringMap{{Key: proto.String("LONG"), Value: proto.String(strings.Repeat("x", 50_000))}}
		list = append(list, r)
	}
	w.accepted(list...)
	var lost []yarn.ContainerID
	for n := range w.last.Load() {
		w.printed(w.id(n+1), "ready")
		if n < half {
			lost = append(lost, w.id(n+1))
		}
	}
	w.end()
	w.forgets(lost...)
	w.start()
	if told := w.told(); len(told) != half {
		t.Errorf("the node registers with %v", told)
	}
	if left := w.processes(); len(left) < half || len(left) > 2*half { // of each a shell and what it runs
		t.Errorf("%d processes go on", len(left))
	}
	for _, pid := range w.processes() {
		environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		for _, id := range lost {
			if strings.Contains(string(environ), id.String()+"/") {
				t.Errorf("process %d of %s goes on without an owner", pid, id)
			}
		}
	}
	w.works()
}

// The store is lost altogether, and the application has another container run at once.
func TestKilledAndAllForgotten(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	for range 5 {
		w.printed(w.runs(`echo ready; exec sleep 1000`), "ready")
	}
	for n := range 3000 { // takes a while to delete
		if err := os.WriteFile(w.path("local/usercache/ann/appcache", w.app.String(), strconv.Itoa(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.end()
	if err := os.RemoveAll(w.path("recovery")); err != nil {
		t.Fatal(err)
	}
	w.start()
	if left := w.processes(); len(left) > 0 {
		t.Errorf("%d processes go on without an owner", len(left))
	}
	w.works()
	await(t, "what was is deleted", func() bool { return len(names(w.path("local"))) == 3 })
}

// A node that dies while it fetches fetches all of it again, whatever lies where it goes.
func TestKilledWhileLocalizing(t *testing.T) {
	t.Parallel()
	w := lasting(t, "yarn.nodemanager.delete.thread-count", "1")
	asked, open := make(chan struct{}, 100), make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked <- struct{}{}
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		_, _ = answer.Write([]byte("hello\n"))
	}))
	t.Cleanup(source.Close)
	host, text, _ := net.SplitHostPort(source.Listener.Addr().String())
	port, _ := strconv.Atoi(text)
	w.spawn()
	var list []*pb.StartContainerRequest
	for n := range 6 {
		r := w.request(w.next(), "cat it")
		r.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{{Key: proto.String("it"), Value: &pb.LocalResource{
			Resource:  &pb.URL{Scheme: proto.String("http"), Host: &host, Port: proto.Int32(int32(port)), File: proto.String("/" + strconv.Itoa(n))},
			Timestamp: proto.Int64(0), Type: pb.LocalResourceType_FILE.Enum(), Visibility: pb.LocalResourceVisibility_PRIVATE.Enum()}}}
		list = append(list, r)
	}
	w.accepted(list...)
	for range list {
		<-asked
	}
	cache := w.path("local/usercache/ann/filecache")
	w.end()
	if err := os.Mkdir(filepath.Join(cache, "12"), 0o755); err != nil { // one that had come, and was not written down yet
		t.Fatal(err)
	}
	for n := range 3000 { // takes a while to delete
		if err := os.WriteFile(filepath.Join(cache, "10_tmp", strconv.Itoa(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	close(open)
	w.start()
	for n := range list {
		w.exits(w.id(int64(n)+1), 0)
	}
	await(t, "nothing of the last life is left", func() bool { return len(names(cache)) == len(list) && len(names(w.path("local"))) == 3 })
}
