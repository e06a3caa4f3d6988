package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// row is what the tests read of a row.
type row struct {
	ID, To, State, User string
	Nodes               int
	Memory              float64
	Hidden              bool
}

type part struct {
	Total, Matching, Offset, NodesPerCell int
	App, Node, Cell                       []row
}

func window(t *testing.T, h http.Handler, path string) part {
	t.Helper()
	w := get(h, path, "")
	all := map[string]part{}
	if err := json.Unmarshal(w.Body.Bytes(), &all); w.Code != http.StatusOK || err != nil || len(all) != 1 {
		t.Fatalf("%s: %d %v %s", path, w.Code, err, w.Body)
	}
	for _, p := range all {
		return p
	}
	return part{}
}

// crowd is a cluster with so many applications and nodes.
func crowd(n int) *webtest.Source {
	s := webtest.New()
	c := s.Picture
	model := *c.Applications[len(c.Applications)-1]
	c.Applications, c.Nodes = nil, nil
	for i := range n {
		a, common := model, *model.Common
		a.ID, a.Name, a.Common, common.User = webtest.App(int32(i+1)), fmt.Sprintf("job-%d", i%7), &common, fmt.Sprintf("user%d", i%3)
		c.Applications = append(c.Applications, &a)
		c.Nodes = append(c.Nodes, &view.Node{ID: yarn.NodeID{Host: fmt.Sprintf("node%05d", i), Port: 1}, Rack: fmt.Sprintf("/rack%02d", i/50), State: yarn.NodeRunning,
			Total: yarn.NewResource(1000, 10), Used: yarn.NewResource(int64(i%100)*10, 1)})
	}
	c.Nodes[n-1].State = yarn.NodeLost
	return s
}

// TestAppList: a part of a long list costs a part, the newest first unless another order is asked for.
func TestAppList(t *testing.T) {
	h := serve(t, crowd(2500), &webtest.Controller{})
	p := window(t, h, "/app-list")
	if p.Total != 2500 || p.Matching != 2500 || len(p.App) != 100 || p.App[0].ID != webtest.App(2500).String() {
		t.Errorf("%d of %d, %d rows, first %s", p.Matching, p.Total, len(p.App), p.App[0].ID)
	}
	if p = window(t, h, "/app-list?limit=100000"); len(p.App) != 1000 {
		t.Errorf("%d rows in one answer", len(p.App))
	}
	if p = window(t, h, "/app-list?offset=2490&order=asc"); len(p.App) != 10 || p.App[0].ID != webtest.App(2491).String() || p.Offset != 2490 {
		t.Errorf("%d rows, first %v", len(p.App), p.App)
	}
	if p = window(t, h, "/app-list?offset=9999"); len(p.App) != 0 || p.Matching != 2500 {
		t.Errorf("beyond the end: %d rows", len(p.App))
	}
	if p = window(t, h, "/app-list?q=JOB-3&user=user1&sort=user&order=desc&limit=5"); p.Matching != 119 || p.App[0].User != "user1" {
		t.Errorf("%d match: %v", p.Matching, p.App)
	}
	if p = window(t, serve(t, webtest.New(), &webtest.Controller{}), "/app-list?waiting=true"); p.Total != 6 || p.Matching != 1 || p.App[0].ID != webtest.App(8).String() {
		t.Errorf("waiting: %+v", p)
	}
	for _, bad := range []string{"sort=colour", "order=up", "offset=-1", "offset=x", "limit=0", "states=NONE", "q=" + fmt.Sprintf("%0201d", 1)} {
		if w := get(h, "/app-list?"+bad, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}

// TestAppListHides: what the caller may not view is not in a row.
func TestAppListHides(t *testing.T) {
	s := crowd(3)
	s.Denied = map[string]bool{"alice": true} // who asks
	for i, user := range []string{"alice", "bob", "alice"} {
		s.Picture.Applications[i].User = user
	}
	h := serve(t, s, &webtest.Controller{})
	p := window(t, h, "/app-list")
	if len(p.App) != 3 || !p.App[1].Hidden || p.App[0].Hidden {
		t.Errorf("%+v", p.App)
	}
}

func TestNodeListAndMap(t *testing.T) {
	h := serve(t, crowd(2500), &webtest.Controller{})
	p := window(t, h, "/node-list?sort=memory&order=desc&limit=3")
	if p.Total != 2500 || len(p.Node) != 3 || p.Node[0].ID != "node00099:1" {
		t.Errorf("%+v", p)
	}
	if p = window(t, h, "/node-list?states=LOST"); p.Matching != 1 || p.Node[0].ID != "node02499:1" {
		t.Errorf("%+v", p)
	}
	if p = window(t, h, "/node-list?q=RACK03&limit=1"); p.Matching != 50 {
		t.Errorf("%d match", p.Matching)
	}
	// 2,500 nodes in at most 400 cells: 7 each, and the last one is told apart by its state.
	p = window(t, h, "/node-map?cells=400")
	last := p.Cell[len(p.Cell)-1]
	if p.NodesPerCell != 7 || len(p.Cell) != 358 || p.Cell[0].Nodes != 7 || p.Cell[0].ID != "node00000:1" || p.Cell[0].To != "node00006:1" || p.Cell[0].Memory != 3 || last.State != "LOST" {
		t.Errorf("%d a cell, %d cells, first %+v, last %+v", p.NodesPerCell, len(p.Cell), p.Cell[0], last)
	}
	if p = window(t, h, "/node-map?q=nowhere"); len(p.Cell) != 0 || p.Matching != 0 {
		t.Errorf("%+v", p)
	}
}
