package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// evils are texts that steer a terminal, turn writing around, are markup or lines of their own; \x00 and what is no UTF-8 cannot be
// sent over the RPCs, but in addresses.
var evils = []string{
	"\x1b[2J\x1b]0;title\x07", "\u202etxt.exe\u202c", "\u2066x\u2069\u200f\u061c", "\u009b31m\u0085", "\u2028\u2029", "\x7f\x08\x08", "a\rb", "\ufeff\u00ad\U000e0041",
	`"'><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, "{{.Secret}}${jndi:x}", "x\n\tState : FINISHED", "x\n2026-11-22 02:10:04,123+0000 INFO  resourcemanager: forged",
	"]]><x/>&#27;&lt;", "\\u001b", "größe 名前 שלום",
}

// text gives everything that has a name or a report such texts, then random ones, and looks for them on all pages, in REST, on the
// command line and in the logs.
func text(a *arena) {
	rm := a.resourceManager(nil)
	nm := a.nodeManager(rm, "nm", nil)
	w := &watcher{arena: a, names: map[string]string{}, web: "http://" + rm.address[webPort], nodeWeb: "http://" + nm.address[nodeWebPort]}
	for i := range len(evils) {
		w.application(rm, func() string { return evils[i] })
		w.node(rm, i, func() string { return evils[i] })
	}
	for i := range pick(a, 60, 10) {
		w.application(rm, w.any)
		w.node(rm, 100+i, w.any)
	}
	w.walk()
	w.addresses()
	w.commands(rm)
	w.logs(rm, nm)
	a.figure("applications and nodes with hostile texts", float64(len(w.apps)+len(w.nodes)), "")
	a.figure("pages, documents, tables and logs read", float64(w.read), "")
	a.figure("characters that steer", float64(w.steering), "")
	a.figure("places with markup", float64(w.markup), "")
	for _, c := range []struct {
		wrong    int
		expected string
	}{{w.steering, "no control or bidirectional character comes out"}, {w.markup, "no markup comes out"}, {w.changed, "JSON keeps every name as it was given"},
		{w.broken, "all documents and commands are sound"}} {
		example := ""
		if c.wrong > 0 {
			example = ", the last found: " + w.example
		}
		a.check(c.wrong == 0, c.expected, "%d are wrong%s", c.wrong, example)
	}
}

// watcher reads what comes out.
type watcher struct {
	*arena
	web, nodeWeb                            string
	apps                                    []yarn.ApplicationID
	nodes                                   []string
	names                                   map[string]string // by application
	read, steering, markup, changed, broken int
	example                                 string
}

// any is a text of the seed.
func (w *watcher) any() string {
	var b strings.Builder
	for range 1 + w.random.IntN(4) {
		switch w.random.IntN(4) {
		case 0:
			b.WriteString(evils[w.random.IntN(len(evils))])
		case 1:
			b.WriteRune(rune(w.random.IntN(0xa0)))
		case 2:
			b.WriteRune(rune(0x2000 + w.random.IntN(0x70)))
		default:
			if r := rune(w.random.IntN(unicode.MaxRune)); utf8.ValidRune(r) {
				b.WriteRune(r)
			}
		}
	}
	return strings.ReplaceAll(b.String(), "\x00", "0")
}

// application runs one whose every text is hostile; what is refused for its text is taken without it.
func (w *watcher) application(rm *daemon, say func() string) {
	c := rm.client("user")
	defer c.Close()
	id, _, err := c.NewApplication(w.ctx)
	w.must(err)
	refused := client.Submission{ID: id, Name: say(), Queue: say(), Unmanaged: true, Master: client.Resource{MemoryMB: 128, VCores: 1}}
	_ = c.Submit(w.ctx, refused) // an unknown queue: its name is in the application's report, and in logs
	_, err = c.Queue(w.ctx, say(), false, false)
	var remote *client.Error
	if err != nil && !errors.As(err, &remote) {
		w.must(err)
	}
	name := say()
	m, id := w.unmanaged(rm, "user", client.Submission{Name: name, Type: say(), Tags: tagsOf(say())})
	defer m.Close()
	_, err = m.Register(w.ctx, say(), -1, "http://"+say())
	w.must(err)
	if w.random.IntN(2) == 0 {
		w.must(m.Finish(w.ctx, yarn.FinalFailed, say(), say()))
	}
	w.apps = append(w.apps, id)
	w.names[id.String()] = name
}

// tagsOf is a tag that the ResourceManager takes: ASCII.
func tagsOf(s string) []string {
	return []string{strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return -1
		}
		return r
	}, s) + "t"}
}

// node registers a node that is not there, and reports its health.
func (w *watcher) node(rm *daemon, n int, say func() string) {
	p, err := dial(rm.address[trackerPort], trackerProtocol, "yarn")
	w.must(err)
	defer p.Close()
	id := &pb.NodeId{Host: proto.String("127.0.0.1"), Port: proto.Int32(int32(20000 + n))}
	answer := &pb.RegisterNodeManagerResponse{}
	w.must(p.call("registerNodeManager", &pb.RegisterNodeManagerRequest{NodeId: id, HttpPort: proto.Int32(1), NmVersion: proto.String("3.5.0" + say()),
		Resource: &pb.Resource{Memory: proto.Int64(1024), VirtualCores: proto.Int32(1)}}, answer))
	_ = p.call("nodeHeartbeat", &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: id, ResponseId: proto.Int32(0), NodeHealthStatus: &pb.NodeHealthStatus{
		IsNodeHealthy: proto.Bool(false), HealthReport: proto.String(say()), LastHealthReportTime: proto.Int64(time.Now().UnixMilli())}},
		LastKnownContainerTokenMasterKey: answer.GetContainerTokenMasterKey(), LastKnownNmTokenMasterKey: answer.GetNmTokenMasterKey()}, &pb.NodeHeartbeatResponse{})
	w.nodes = append(w.nodes, fmt.Sprintf("127.0.0.1:%d", 20000+n))
}

// steers tells whether a character does something to what is around it. It is written down here, apart from what the daemons do.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f)
}

// see looks at one text.
func (w *watcher) see(where, s string) {
	w.read++
	if at := strings.IndexFunc(s, steers); at >= 0 || !utf8.ValidString(s) {
		w.steering++
		w.example = fmt.Sprintf("%s: %.120q", where, s[max(0, at-40):])
	}
	if strings.Contains(where, "html") {
		for _, never := range []string{"<script", "<img", "<x/>"} {
			if at := strings.Index(s, never); at >= 0 {
				w.markup++
				w.example = fmt.Sprintf("%s: %.120q", where, s[max(0, at-40):])
			}
		}
	}
}

func (w *watcher) get(address, accept string) string {
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, address, nil)
	w.must(err)
	r.Header.Set("Accept", accept)
	res, err := (&http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	w.must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	w.must(err)
	where := address + " as " + res.Header.Get("Content-Type")
	w.see(where, string(b))
	for name, values := range res.Header {
		w.see(where+" "+name, strings.Join(values, "\n"))
	}
	switch kind := res.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/json") && !json.Valid(b):
		w.unsound(where, errors.New("no JSON"))
	case strings.HasPrefix(kind, "application/xml"):
		for d := xml.NewDecoder(bytes.NewReader(b)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				w.unsound(where, err)
				break
			}
		}
	}
	return string(b)
}

func (w *watcher) unsound(where string, err error) {
	w.broken++
	w.example = where + ": " + err.Error()
}

// walk reads every page and document.
func (w *watcher) walk() {
	pages := []string{"/cluster", "/cluster/cluster", "/cluster/apps", "/cluster/nodes", "/cluster/nodes/unhealthy", "/cluster/nodelabels", "/cluster/scheduler", "/jmx", "/prom", "/conf",
		"/stacks?user.name=root"}
	rest := []string{"/apps", "/nodes", "/scheduler", "/metrics", "/appstatistics"}
	for _, id := range w.apps {
		pages = append(pages, "/cluster/app/"+id.String(), "/cluster/appattempt/"+strings.Replace(id.String(), "application", "appattempt", 1)+"_000001", "/proxy/"+id.String()+"/")
		rest = append(rest, "/apps/"+id.String(), "/apps/"+id.String()+"/appattempts", "/apps/"+id.String()+"/why")
	}
	for _, n := range w.nodes {
		rest = append(rest, "/nodes/"+n)
	}
	for _, p := range pages {
		w.get(w.web+p, "text/html")
	}
	for _, p := range rest {
		w.get(w.web+"/ws/v1/cluster"+p, "application/xml")
		w.get(w.web+"/ws/v1/cluster"+p, "application/json")
	}
	for _, p := range []string{"/node", "/node/allApplications", "/node/allContainers", "/jmx", "/ws/v1/node/info", "/ws/v1/node/apps"} {
		w.get(w.nodeWeb+p, "*/*")
	}
	var list struct {
		Apps struct {
			App []struct{ ID, Name string }
		}
	}
	if err := json.Unmarshal([]byte(w.get(w.web+"/ws/v1/cluster/apps", "application/json")), &list); err != nil {
		w.unsound("/apps", err)
	}
	w.compare(func(yield func(string, string)) {
		for _, app := range list.Apps.App {
			yield(app.ID, app.Name)
		}
	})
}

// compare holds names against those that were given.
func (w *watcher) compare(each func(func(id, name string))) {
	found := 0
	each(func(id, name string) {
		want, ours := w.names[id]
		if !ours {
			return
		}
		found++
		if name != want {
			w.changed++
			w.example = fmt.Sprintf("%s is %q and was %q", id, name, want)
		}
	})
	if found != len(w.names) {
		w.unsound("a list of applications", fmt.Errorf("%d of %d", found, len(w.names)))
	}
}

// addresses asks for pages whose addresses are hostile.
func (w *watcher) addresses() {
	list := append(slices.Clone(evils), "\x00", "\xff\xfe", "..%2f")
	for range pick(w.arena, 100, 20) {
		list = append(list, w.any())
	}
	for _, s := range list {
		e := url.PathEscape(s)
		for _, p := range []string{"/cluster/app/", "/cluster/apps/", "/cluster/nodes/", "/cluster/failure/", "/cluster/container/", "/proxy/", "/ws/v1/cluster/apps/", "/ws/v1/cluster/nodes/",
			"/ws/v1/cluster/queues/", "/ws/v1/cluster/", "/", "/conf?name=", "/jmx?get=", "/cluster/apps?queue=", "/cluster/apps?name=", "/cluster/scheduler?queue=", "/ws/v1/cluster/apps?states="} {
			w.get(w.web+p+e, "*/*")
		}
		for _, p := range []string{"/node/application/", "/node/container/", "/node/containerlogs/container_1_0001_01_000001/", "/ws/v1/node/apps/", "/ws/v1/node/containers/", "/conf?name="} {
			w.get(w.nodeWeb+p+e, "*/*")
		}
	}
}

// commands reads tables and errors of the command line.
func (w *watcher) commands(rm *daemon) {
	lines := [][]string{{"application", "-list", "-appStates", "ALL"}, {"node", "-list", "-all", "-showDetails"}, {"queue", "-list", "all"}, {"cluster", "-lnl"}}
	for _, id := range w.apps[:min(len(w.apps), pick(w.arena, 40, 16))] {
		lines = append(lines, []string{"application", "-status", id.String()})
	}
	for _, n := range w.nodes[:min(len(w.nodes), pick(w.arena, 20, 6))] {
		lines = append(lines, []string{"node", "-status", n})
	}
	for _, s := range evils[:pick(w.arena, len(evils), 4)] {
		lines = append(lines, []string{"queue", "-status", s}, []string{"application", "-movetoqueue", w.apps[0].String(), "-queue", s}, []string{"application", "-list", "-appStates", s})
	}
	for _, words := range lines {
		w.run(rm, words...)
	}
	table := w.run(rm, "application", "-list", "-appStates", "ALL")
	if rows := strings.Count(table, "application_"); rows != strings.Count(table, "\n")-2 {
		w.unsound("the table of applications", fmt.Errorf("%d lines for %d applications", strings.Count(table, "\n")-2, rows))
	}
	var list struct {
		Applications []struct{ ID, Name string }
	}
	if err := json.Unmarshal([]byte(w.run(rm, "application", "-list", "-appStates", "ALL", "--output=json")), &list); err != nil {
		w.unsound("the list of applications in JSON", err)
	}
	w.compare(func(yield func(string, string)) {
		for _, app := range list.Applications {
			yield(app.ID, app.Name)
		}
	})
}

func (w *watcher) run(rm *daemon, words ...string) string {
	c := exec.CommandContext(w.ctx, w.binary, append([]string{"--config", rm.confDir()}, words...)...)
	c.Env = append(os.Environ(), "HADOOP_USER_NAME=user")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // what it says is looked at, whether it succeeds or not
	w.see("yarn "+strings.Join(words, " "), out.String()+errs.String())
	if strings.Contains(out.String()+errs.String(), "\n\tState : FINISHED") && slices.Contains(words, "ALL") {
		w.unsound("yarn "+strings.Join(words, " "), errors.New("a name has a line of its own"))
	}
	return out.String()
}

// logs reads what the daemons have logged.
func (w *watcher) logs(list ...*daemon) {
	for _, d := range list {
		b, err := os.ReadFile(filepath.Clean(d.logFile()))
		w.must(err)
		w.see("the log of "+d.name, string(b))
		if strings.Contains(string(b), "\n2026-11-22 02:10:04,123") {
			w.unsound("the log of "+d.name, errors.New("it has a forged line"))
		}
	}
}
