package ui

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

var (
	tableOf = regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	headOf  = regexp.MustCompile(`(?s)<th scope="col"[^>]*>(.*?)</th>`)
	rowOf   = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	cellOf  = regexp.MustCompile(`(?s)<t[hd]( scope="row")?( class="[^"]*")?[^>]*>(.*?)</t[hd]>`)
	tags    = regexp.MustCompile(`<[^>]*>`)
)

// cell is one of a table as it stands in the page.
type cell struct{ class, html, text string }

// table is a table of a page.
type table struct {
	heads []cell
	rows  [][]cell
}

// words is markup as people read it.
func words(markup string) string {
	return strings.TrimSpace(html.UnescapeString(strings.ReplaceAll(tags.ReplaceAllString(markup, ""), "&shy;", "")))
}

// tableWith is the table of the page that has a caption.
func tableWith(t *testing.T, body, caption string) (out table) {
	t.Helper()
	for _, markup := range tableOf.FindAllString(body, -1) {
		if !strings.Contains(markup, ">"+caption+"</caption>") {
			continue
		}
		head, rest, _ := strings.Cut(markup, "</thead>")
		for _, m := range headOf.FindAllStringSubmatch(head, -1) {
			out.heads = append(out.heads, cell{html: m[1], text: words(m[1])})
		}
		for _, row := range rowOf.FindAllStringSubmatch(rest, -1) {
			var cells []cell
			for _, m := range cellOf.FindAllStringSubmatch(row[1], -1) {
				cells = append(cells, cell{m[2], m[3], words(m[3])})
			}
			out.rows = append(out.rows, cells)
		}
		return out
	}
	t.Fatalf("no table %q in\n%s", caption, body)
	return out
}

// column is what a column has in each row.
func (b table) column(t *testing.T, name string) (out []string) {
	t.Helper()
	for i, h := range b.heads {
		if h.text == name {
			for _, row := range b.rows {
				out = append(out, row[i].text)
			}
			return out
		}
	}
	t.Fatalf("no column %q in %v", name, b.heads)
	return nil
}

// TestCompleted: what has ended is counted however it ended, as Hadoop's page does.
func TestCompleted(t *testing.T) {
	m := tableWith(t, get(serve(webtest.New(), false), "/cluster").Body.String(), "Cluster Metrics")
	if got := m.column(t, "Apps Completed"); len(got) != 1 || got[0] != "4" { // 2 finished, 1 failed, 1 killed
		t.Errorf("%v applications completed, want 4", got)
	}
}

// columnNames are those of Hadoop's table of applications that are there, in its order.
var columnNames = strings.Split("ID|User|Name|Application Type|Application Tags|Queue|Application Priority|StartTime|LaunchTime|FinishTime|State|FinalStatus|"+
	"Running Containers|Allocated CPU VCores|Allocated Memory MB|Reserved CPU VCores|Reserved Memory MB|% of Queue|% of Cluster|Progress|Tracking UI|Blacklisted Nodes", "|")

func TestColumns(t *testing.T) {
	var names []string
	for _, h := range tableWith(t, get(serve(webtest.New(), false), "/cluster").Body.String(), "Applications").heads {
		names = append(names, h.text)
	}
	if strings.Join(names, "|") != strings.Join(columnNames, "|") {
		t.Errorf("%v", names)
	}
}

// widest is the longest piece of a cell that cannot go on in the next line.
func widest(c cell) (most int) {
	if strings.Contains(c.class, `"text"`) {
		return 7 // it breaks anywhere, and has that room at least
	}
	markup := strings.NewReplacer("<wbr>", " ", "&shy;", "- ").Replace(c.html)
	for _, piece := range strings.Fields(html.UnescapeString(tags.ReplaceAllString(markup, ""))) {
		most = max(most, len([]rune(piece)))
	}
	return most
}

// TestWidth: the tables of applications and of nodes need no more room than a window of 1280 pixels has. A letter takes 6.8 pixels of a
// wide typeface at the size that the style sheet gives, a cell 6 beside it.
func TestWidth(t *testing.T) {
	s := webtest.New()
	a := s.Picture.Applications[3] // it runs
	a.Name, a.User, a.Type, a.Tags = strings.Repeat("a-long-name", 20), "a_user_of_a_directory", "MAPREDUCE", []string{"a", strings.Repeat("tag", 30)}
	a.Usage.Used, a.Usage.Reserved = yarn.NewResource(9_999_999, 99_999), yarn.NewResource(999_999, 9_999)
	a.Queue = "root.department.production.nightly_loads"
	for _, a := range s.Picture.Applications {
		a.FinalStatus = yarn.FinalUndefined
	}
	for _, n := range s.Picture.Nodes {
		n.ID.Host, n.HTTPAddress, n.Rack, n.HealthReport = "worker-0001.rack-07.example.org", "worker-0001.rack-07.example.org:8042", "/rack-07", strings.Repeat("1/1 local-dirs are bad: ", 9)
		n.State, n.Used, n.Available = yarn.NodeDecommissioned, yarn.NewResource(1_999_999, 999), yarn.NewResource(1_999_999, 999)
	}
	h := serve(s, false)
	narrow(t, tableWith(t, get(h, "/cluster").Body.String(), "Applications"))
	narrow(t, tableWith(t, get(h, "/cluster/nodes").Body.String(), "Nodes"))
}

// narrow fails unless the table fits.
func narrow(t *testing.T, got table) {
	t.Helper()
	room := 0
	for i, h := range got.heads {
		most := widest(h)
		for _, row := range got.rows {
			most = max(most, widest(row[i]))
		}
		room += most*68/10 + 6
	}
	if room > 1233 { // without the window's border, its scroll bar and the margins
		t.Errorf("the table takes %d pixels", room)
	}
}

// TestOrder: every column orders the whole list, both ways, before it is cut into pages.
func TestOrder(t *testing.T) {
	s := webtest.New()
	h := serve(s, false)
	ids := func(query string) []string {
		return tableWith(t, get(h, "/cluster"+query).Body.String(), "Applications").column(t, "ID")
	}
	newest := strings.Join(ids(""), " ")
	head := regexp.MustCompile(`<th scope="col"[^>]*><a href="(/cluster\?sort=([a-z-]+))">`)
	links := head.FindAllStringSubmatch(get(h, "/cluster").Body.String(), -1)
	if len(links) != len(columnNames) {
		t.Fatalf("%d of %d columns can be ordered by", len(links), len(columnNames))
	}
	for i, m := range links {
		up, down := tableWith(t, get(h, m[1]).Body.String(), "Applications"), tableWith(t, get(h, m[1]+"&order=desc").Body.String(), "Applications")
		if up.heads[i].text != columnNames[i] || !strings.Contains(get(h, m[1]).Body.String(), `aria-sort="ascending"><a href="/cluster?order=desc&amp;sort=`+m[2]+`">`) ||
			!strings.Contains(get(h, m[1]+"&order=desc").Body.String(), `aria-sort="descending"><a href="/cluster?sort=`+m[2]+`">`) {
			t.Errorf("%s: the heading does not say the order, or not how to turn it", m[2])
		}
		first, last := up.column(t, columnNames[i]), down.column(t, columnNames[i])
		if first[0] != last[len(last)-1] && m[2] != "start" {
			t.Errorf("%s: %v upwards, %v downwards", m[2], first, last)
		}
	}
	for query, want := range map[string]string{
		"?sort=id":                    "1 3 4 6 8 9",
		"?sort=id&order=desc":         "9 8 6 4 3 1",
		"?sort=memory&order=desc":     "6 8 9 4 3 1", // the one that runs, then the one that waits, then the ended, newest first
		"?sort=user":                  "6 1 9 8 3 4", // alice, bob, carol; newest first
		"?sort=priority&order=desc":   "6 9 8 4 3 1",
		"?sort=nosuch":                "9 8 6 4 3 1",
		"?sort=state&order=%22%3E%3C": "8 9 3 1 4 6",
	} {
		var got []string
		for _, id := range ids(query) {
			got = append(got, strings.TrimLeft(id[strings.LastIndexByte(id, '_')+1:], "0"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	if got := strings.Join(ids("?sort=nosuch"), " "); got != newest {
		t.Errorf("an unknown column: %s", got)
	}
}

// TestOrderHides: what a caller may not see has no say in the order.
func TestOrderHides(t *testing.T) {
	s := webtest.New()
	s.Denied = map[string]bool{"alice": true}
	for _, a := range s.Picture.Applications {
		if a.User == "bob" {
			a.Usage.Used = yarn.NewResource(int64(a.ID.Sequence)*1000, 1)
			a.Attempts = []*view.Attempt{{State: yarn.AttemptRunning, Master: &view.Master{}}}
		}
	}
	got := tableWith(t, get(serve(s, false), "/cluster?sort=memory&order=desc").Body.String(), "Applications").column(t, "ID")
	if !strings.HasSuffix(got[0], "_0006") || !strings.HasSuffix(got[1], "_0009") || !strings.HasSuffix(got[5], "_0001") {
		t.Errorf("%v", got) // alice's, which runs; then the rest, newest first
	}
}

// TestOrderOfNodes: nodes are ordered likewise, and the order goes on on the next page.
func TestOrderOfNodes(t *testing.T) {
	s := webtest.New()
	h := serve(s, false)
	for query, want := range map[string]string{"?sort=memory": "22717", "?sort=memory&order=desc": "26839", "?sort=free-memory": "26839", "?sort=address&order=desc": "26839"} {
		if got := tableWith(t, get(h, "/cluster/nodes"+query).Body.String(), "Nodes").column(t, "Node Address"); !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %v", query, got)
		}
	}
	one := s.Picture.Nodes[0]
	for range 150 {
		s.Picture.Nodes = append(s.Picture.Nodes, one)
	}
	if body := get(h, "/cluster/nodes?sort=memory&order=desc").Body.String(); !strings.Contains(body, `<a href="/cluster/nodes?order=desc&amp;page=2&amp;sort=memory" rel="next">`) {
		t.Error("the next page has another order")
	}
}

// TestOpportunisticNodes: where there are opportunistic containers the list of nodes tells them from guaranteed ones.
func TestOpportunisticNodes(t *testing.T) {
	s := webtest.New()
	for _, h := range tableWith(t, get(serve(s, false), "/cluster/nodes").Body.String(), "Nodes").heads {
		if strings.Contains(h.text, "(O)") {
			t.Errorf("a column %q without opportunistic containers", h.text)
		}
	}
	s.Picture.Metrics.Opportunistic = &view.Opportunistics{}
	n := *s.Picture.Nodes[0]
	n.Opportunistic = view.Opportunistic{Running: 3, Queued: 7, MemoryMB: 2048, VCores: 5}
	s.Picture.Nodes = []*view.Node{&n}
	nodes := tableWith(t, get(serve(s, false), "/cluster/nodes").Body.String(), "Nodes")
	for name, want := range map[string]string{"Running Containers (O)": "3", "Queued Containers": "7", "Mem Used (O)": "2 GB", "VCores Used (O)": "5",
		"Running Containers (G)": strconv.Itoa(n.Containers), "Version": n.Version} {
		if got := nodes.column(t, name); got[0] != want {
			t.Errorf("%s is %q, want %q", name, got[0], want)
		}
	}
}
