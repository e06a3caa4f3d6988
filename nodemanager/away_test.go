package nodemanager

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// A recovery store that is deleted under the node is there again before the node dies: the next life finds everything.
func TestStoreDeleted(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	var ids []yarn.ContainerID
	for range 5 {
		ids = append(ids, w.runs(w.counted("all", "3")))
	}
	await(t, "they run", func() bool { return w.times("all") == len(ids) })
	if err := os.RemoveAll(w.path("recovery")); err != nil {
		t.Fatal(err)
	}
	await(t, "the node has noticed", func() bool { return strings.Contains(w.said(), "has been written anew") })
	w.works()
	w.end()
	w.start()
	if told := w.told(); len(told) != len(ids)+1 {
		t.Errorf("the node registers with %v", told)
	}
	w.let("all")
	for _, id := range ids {
		w.exits(id, 3)
	}
	if n := w.times("all"); n != len(ids) {
		t.Errorf("they have been run %d times", n)
	}
}

// While the store cannot be written anew the node takes no containers, and says why; then it goes on.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.start()
	w.works()
	id := w.runs(w.counted("it", "3"))
	w.printed(id, "ready")
	dir := w.path("recovery")
	if err := errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	const why = "the recovery store keeps nothing for now: "
	await(t, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
	if _, report := w.rm.health(); !strings.Contains(report, why+dir) || !strings.Contains(report, "not a directory") {
		t.Errorf("it reports %s", report)
	}
	w.refused("without a store", w.token(), w.request(w.next(), "true"), serve.YarnException, why)
	w.let("it")
	w.rm.hear(3)
	if s := w.rm.latest(id); s.GetExitStatus() != -1000 {
		t.Errorf("an end is told that nothing keeps: %v", s)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	w.exits(id, 3)
	await(t, "the node is healthy", func() bool { healthy, report := w.rm.health(); return healthy && report == "" })
	w.works()
	w.end()
	w.start()
	if told := w.told(); told[id] != 3 || len(told) != 3 {
		t.Errorf("the node registers with %v", told)
	}
}
