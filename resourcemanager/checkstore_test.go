package resourcemanager

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// A store of which one record is damaged stops the start, which says how to go
// on; so does a mirror of labels. Checked, repaired and started, all else is there.
func TestDamagedStore(t *testing.T) {
	dir := t.TempDir()
	path, labels := filepath.Join(dir, "store"), filepath.Join(dir, "labels")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.heddle.state-store.path", path,
		"yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "file://"+labels, "yarn.admin.acl", operator)
	must(w.admin(operator), "addToClusterNodeLabels", addLabels("gpu", "ssd:shared"), &pb.AddToClusterNodeLabelsResponse{})
	alice := w.as("alice")
	lost := alice.submit(unmanaged, func(c *pb.ApplicationSubmissionContext) { c.ApplicationName = new("the damaged one") })
	kept := alice.submit(unmanaged)
	o := Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	look := func(want bool, says ...string) {
		t.Helper()
		var out bytes.Buffer
		whole, err := CheckStore(o, &out)
		for _, text := range says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("the check does not say %q:\n%s", text, &out)
			}
		}
		if err != nil || whole != want {
			t.Errorf("whole %t, %v:\n%s", whole, err, &out)
		}
	}
	if _, err := CheckStore(o, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is a ResourceManager running already?") {
		t.Errorf("checked beside a running daemon: %v", err)
	}
	w.d.Stop()
	look(true, "state store "+path+": whole", "node labels file:"+labels+": whole, 2 labels")

	flip := func(file, text string) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(b, []byte(text)) {
			t.Fatalf("%q is not in %s: %v", text, file, err)
		}
		other := []byte(text)
		other[0] ^= 1
		b = bytes.ReplaceAll(b, []byte(text), other) // also on pages that are free by now
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flip(filepath.Join(labels, "nodelabel.mirror"), "ssd")
	if _, err := w.start(); err == nil || !strings.Contains(err.Error(), "nodelabel.mirror") || !strings.Contains(err.Error(), "-repair-state-store") {
		t.Errorf("started on damaged labels: %v", err)
	}
	flip(path, "the damaged one")
	_, err := w.start()
	for _, text := range []string{path, "1 record", lost.String(), "yarn resourcemanager -check-state-store", "yarn resourcemanager -repair-state-store"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the refusal does not say %q: %v", text, err)
		}
	}
	look(false, "damaged (1 ", "lost: application \""+lost.String()+"\"", "nodelabel.mirror: ")
	var out bytes.Buffer
	if err := RepairStore(o, &out); err != nil || !strings.Contains(out.String(), "lost: application \""+lost.String()+"\"") || !strings.Contains(out.String(), "1 of 2") {
		t.Fatalf("repaired: %v\n%s", err, &out)
	}
	look(true)
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 1 {
		t.Errorf("the damaged file is not kept: %v", aside)
	}
	if w.d, err = w.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.d.Stop)
	w.as("alice").report(kept)
	if got := w.as("alice").labels(); !strings.Contains(got, "gpu:true") {
		t.Errorf("labels: %s", got)
	}
}
