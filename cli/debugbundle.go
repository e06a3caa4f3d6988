package cli

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/progress"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a bundle.
const (
	bundleAnswer   = 64 << 20 // bytes of one answer; what is beyond is cut
	bundleTail     = 4 << 20  // bytes of the end of one log
	bundleLogs     = 40
	bundleNodes    = 50
	bundleUnpacked = 2 << 30 // bytes of a recording, unpacked
	bundlePatience = 30 * time.Second
)

// What is asked of daemons, and the files that the answers go to.
var (
	bundleOfAll     = []question{{"conf.json", "/conf?format=json"}, {"jmx.json", "/jmx"}, {"metrics.txt", "/prom"}, {"goroutines.txt", "/stacks"}}
	bundleOfManager = []question{{"info.json", "/ws/v1/cluster/info"}, {"cluster.json", "/ws/v1/cluster/metrics"}, {"scheduler.json", "/ws/v1/cluster/scheduler"},
		{"nodes.json", "/ws/v1/cluster/nodes"}, {"apps.json", "/ws/v1/cluster/apps?limit=1000"}, {"drains.json", "/ws/v1/cluster/drains"},
		{"preemptions.json", "/ws/v1/cluster/preemptions?limit=1000"}, {"events.ndjson", "/ws/v1/cluster/events?follow=false"}}
	bundleOfNode = []question{{"info.json", "/ws/v1/node/info"}, {"apps.json", "/ws/v1/node/apps"}, {"containers.json", "/ws/v1/node/containers"}}
)

type question struct{ file, path string }

// bundle is a file in the making.
type bundle struct {
	*call
	scrub  *scrubber
	tar    *tar.Writer
	base   string // directory of everything in it
	at     time.Time
	files  []document
	failed []string
}

// debugBundle writes what is needed to look into a problem: configuration, views, metrics, goroutines, the last commands and logs. What cannot be
// had is named in manifest.json. Nothing secret is in it: see scrubber.
func debugBundle(c *call) (err error) {
	if err := c.textOnly(); err != nil {
		return err
	}
	host := c.Getenv("HOSTNAME")
	at := c.Now().UTC()
	base := "heddle-debug-" + strings.ReplaceAll(visible.Line(host), "/", "_") + "-" + at.Format("20060102-150405")
	name := c.opts.first("out")
	if name == "" {
		name = base + ".tar.gz"
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the bundle: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(name)
		}
	}()
	zip := gzip.NewWriter(f)
	b := &bundle{call: c, scrub: newScrubber(c.props, c.signatureSecret()...), tar: tar.NewWriter(zip), base: base, at: at}
	if err := b.gather(); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := errors.Join(b.tar.Close(), zip.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintf(c.Stdout, "%s: %d files, without secrets\n", visible.Line(name), len(b.files))
	for _, text := range b.failed {
		fmt.Fprintf(c.Stdout, "not in it: %s\n", visible.Line(text))
	}
	return nil
}

// signatureSecret is the content of the file whose key signs cookies, if this user may read it.
func (c *call) signatureSecret() []string {
	path := c.props.Get("hadoop.http.authentication.signature.secret.file")
	text, err := os.ReadFile(path)
	if path == "" || err != nil {
		return nil
	}
	return []string{string(text), strings.TrimSpace(string(text))}
}

// gather fills the file. An error is one of writing it.
func (b *bundle) gather() error {
	web := &http.Client{Timeout: bundlePatience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext, TLSHandshakeTimeout: webConnectTime, DisableKeepAlives: true}}
	steps := []func() error{b.configuration}
	addresses, err := b.webAddresses()
	b.miss("the addresses of ResourceManagers", err)
	for _, host := range addresses {
		for _, q := range slices.Concat(bundleOfAll, bundleOfManager) {
			steps = append(steps, func() error { return b.ask(web, "resourcemanager", host, q) })
		}
	}
	steps = append(steps, b.recording)
	for _, host := range b.nodes() {
		for _, q := range slices.Concat(bundleOfAll, bundleOfNode) {
			steps = append(steps, func() error { return b.ask(web, "nodemanager", host, q) })
		}
	}
	steps = append(steps, b.logs)
	meter := progress.New(b.errScreen, b.Now, "gathering", progress.Count("parts"))
	defer meter.End()
	for i, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		meter.Set(int64(i+1), int64(len(steps)))
	}
	return b.manifest()
}

// miss notes what cannot be had.
func (b *bundle) miss(what string, err error) {
	if err != nil {
		b.failed = append(b.failed, string(b.scrub.text([]byte(what+": "+err.Error()))))
	}
}

// add puts a text into the file, without its secrets.
func (b *bundle) add(name, source string, text []byte) error {
	return b.put(name, source, b.scrub.text(text))
}

func (b *bundle) put(name, source string, text []byte) error {
	b.files = append(b.files, document{{"file", name}, {"from", string(b.scrub.text([]byte(source)))}, {"bytes", len(text)}})
	return b.write(name, text)
}

func (b *bundle) write(name string, text []byte) error {
	if err := b.tar.WriteHeader(&tar.Header{Name: b.base + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: b.at, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := b.tar.Write(text)
	return err
}

// configuration is the one that this command reads.
func (b *bundle) configuration() error {
	var list []document
	for _, v := range b.props.All() {
		value := v.Value
		if b.scrub.secrets.Hides(introspect.Property{Name: v.Name, Raw: v.Raw}) {
			value = mask
		}
		list = append(list, document{{"name", v.Name}, {"value", value}, {"source", v.Origin.String()}})
	}
	text, err := json.MarshalIndent(document{{"files", words(b.props.Files())}, {"properties", list}}, "", " ")
	if err != nil {
		return err
	}
	return b.add("conf.json", "the configuration of this command", text)
}

// ask puts an answer of a daemon into the file.
func (b *bundle) ask(web *http.Client, kind, host string, q question) error {
	scheme := "http://"
	if b.props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		scheme = "https://"
	}
	at := scheme + host + q.path
	text, err := b.fetch(web, at)
	if err != nil {
		b.miss(at, err)
		return nil
	}
	name := kind + "-" + strings.NewReplacer("/", "_", ":", "_").Replace(visible.Line(host)) + "/" + q.file
	return b.add(name, at, text)
}

func (b *bundle) fetch(web *http.Client, at string) ([]byte, error) {
	separator := "?"
	if strings.Contains(at, "?") {
		separator = "&"
	}
	request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, at+separator+"user.name="+url.QueryEscape(b.caller()), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, text/plain;q=0.5, */*;q=0.1")
	answer, err := web.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, bundleAnswer))
}

// recording has the ResourceManager write its last commands, and takes the file if it is on this machine.
func (b *bundle) recording() error {
	host, r, err := b.record("save")
	if err == nil && filepath.Dir(r.File) != filepath.Clean(b.Getenv("HADOOP_LOG_DIR")) {
		err = fmt.Errorf("%s has written them to %s, which is not in this machine's HADOOP_LOG_DIR: send that file, too", host, r.File)
	}
	if err != nil {
		b.miss("the last commands", err)
		return nil
	}
	text, err := tail(r.File, bundleAnswer+1)
	if err == nil && len(text) > bundleAnswer {
		err = fmt.Errorf("%s has more than %d MiB: send it, too", r.File, bundleAnswer>>20)
	}
	if err == nil {
		if err = b.scrub.cleanRecording(text); err != nil {
			err = fmt.Errorf("%s: %w", r.File, err)
		}
	}
	if err != nil {
		b.miss("the last commands", err)
		return nil
	}
	return b.put("last-commands.blackbox", r.File, text)
}

// nodes are the web addresses of the nodes that were named.
func (b *bundle) nodes() []string {
	named := notBlank(b.opts.all("node"))
	if len(named) == 0 {
		return nil
	}
	rm, err := b.client()
	var all []*client.Node
	if err == nil {
		all, err = rm.Nodes(b.ctx, yarn.NodeStates()...)
	}
	if err != nil {
		b.miss("NodeManagers", err)
		return nil
	}
	var out []string
	for _, name := range named {
		i := slices.IndexFunc(all, func(n *client.Node) bool { return n.ID.String() == name || n.ID.Host == name })
		switch {
		case i < 0 || orEmpty(all[i].HTTPAddress) == "":
			b.miss("NodeManager "+name, errors.New("the ResourceManager knows no such node"))
		case len(out) == bundleNodes:
			b.miss("NodeManager "+name, fmt.Errorf("a bundle has at most %d nodes", bundleNodes))
		default:
			out = append(out, *all[i].HTTPAddress)
		}
	}
	return out
}

// logs are the ends of this machine's daemons' logs.
func (b *bundle) logs() error {
	dir := b.Getenv("HADOOP_LOG_DIR")
	var found []string
	for _, daemon := range []string{"resourcemanager", "nodemanager", "logserver"} {
		for _, pattern := range []string{"hadoop-*-" + daemon + "-*.log", "hadoop-*-" + daemon + "-*.out"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			b.miss("logs", err)
			found = append(found, paths...)
		}
	}
	for _, name := range []string{"rm-audit.log", "nm-audit.log"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found = append(found, filepath.Join(dir, name))
		}
	}
	if len(found) == 0 {
		return b.journal()
	}
	for _, path := range found[:min(len(found), bundleLogs)] {
		text, err := tail(path, bundleTail)
		if err != nil {
			b.miss("log", err)
			continue
		}
		if err := b.add("logs/"+filepath.Base(path), path, text); err != nil {
			return err
		}
	}
	return nil
}

// journal takes the logs of units of systemd.
func (b *bundle) journal() error {
	program, _ := b.executable("journalctl") // there is none without systemd
	if program == "" {
		b.miss("logs", fmt.Errorf("there are none of daemons in HADOOP_LOG_DIR (%s)", b.Getenv("HADOOP_LOG_DIR")))
		return nil
	}
	for _, unit := range []string{"yarn-resourcemanager", "yarn-nodemanager", "yarn-logserver"} {
		text, err := exec.CommandContext(b.ctx, program, "--unit", unit, "--lines", "10000", "--no-pager", "--quiet", "--output", "short-iso").Output() //nolint:gosec // of the user's PATH
		switch {
		case err != nil:
			b.miss("the journal of "+unit, err)
		case len(text) > 0:
			if err := b.add("logs/"+unit+".journal", "journalctl --unit "+unit, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// tail reads the end of a regular file, whole lines of it if it is cut.
func tail(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cut := info.Size() > most
	if cut {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if i := slices.Index(text, '\n'); cut && i >= 0 {
		text = text[i+1:]
	}
	return text, err
}

// manifest says what is in the file and what is not.
func (b *bundle) manifest() error {
	text, err := json.MarshalIndent(document{{"schema", Schema}, {"kind", "debugBundle"}, {"time", b.at.Format(time.RFC3339)}, {"host", b.Getenv("HOSTNAME")},
		{"program", release.Own().String()}, {"files", b.files}, {"missing", words(b.failed)}}, "", "  ")
	if err != nil {
		return err
	}
	return b.write("manifest.json", b.scrub.text(append(text, '\n')))
}
