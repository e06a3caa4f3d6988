package nodemanager

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/store"
)

// A recovery store that was emptied stops the start, which says how to go on; a check and a repair do as they say.
func TestDamagedStore(t *testing.T) {
	w := lasting(t)
	w.start()
	w.end()
	path := filepath.Join(w.site["yarn.nodemanager.recovery.dir"], store.File)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Start(options(w.site, w.log))
	for _, text := range []string{path, "it is empty", "yarn nodemanager -check-recovery-store", "yarn nodemanager -repair-recovery-store"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the refusal does not say %q: %v", text, err)
		}
	}
	var out bytes.Buffer
	if whole, err := CheckStore(options(w.site, w.log), &out); err != nil || whole || !strings.Contains(out.String(), "recovery store "+path+": damaged (1 file)") {
		t.Errorf("whole %t, %v: %s", whole, err, &out)
	}
	out.Reset()
	if err := RepairStore(options(w.site, w.log), &out); err != nil || !strings.Contains(out.String(), "repaired: "+path) {
		t.Errorf("%v: %s", err, &out)
	}
	w.start()
}
