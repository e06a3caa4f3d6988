package schedtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	f, _ := os.Open(os.Getenv("DBG"))
	if f == nil {
		return
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	var w *world
	for sc.Scan() {
		var e obj
		json.Unmarshal(sc.Bytes(), &e)
		if w == nil {
			w, _ = newWorld(e)
			continue
		}
		got := roundTrip(w.apply(e))
		d := diff("", e["saw"], any(got))
		if e["n"].(float64) >= 78 || d != "" {
			q, _ := w.s.Queues().ByPath(os.Getenv("Q"))
			fmt.Println(e["n"], e["do"], q.Default.Used, q.Default.EffectiveMin, q.Default.EffectiveMax, q.Users, d)
			fmt.Printf("%+v\n", w.s.AppUsage(w.byName["a1"].ref))
		}
		if d != "" {
			return
		}
	}
}
