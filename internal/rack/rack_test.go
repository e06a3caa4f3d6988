package rack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// resolver is one whose names resolve to themselves and which logs to a buffer.
func resolver(t *testing.T, o Options) (*Resolver, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	if o.Address == nil {
		o.Address = func(_ context.Context, host string) (string, error) {
			if name, ok := strings.CutSuffix(host, ".dns"); ok {
				return "10.0.0." + name, nil
			}
			return "", errors.New("no such host")
		}
	}
	if o.Wait == 0 {
		o.Wait = 20 * time.Second
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, &log
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func check(t *testing.T, r *Resolver, hosts, want string) {
	t.Helper()
	got := r.Racks(t.Context(), strings.Fields(hosts))
	if !reflect.DeepEqual(got, strings.Fields(want)) {
		t.Errorf("%s: %v, want %s", hosts, got, want)
	}
}

func TestNothingConfigured(t *testing.T) {
	r, _ := resolver(t, Options{})
	check(t, r, "n1 n2", Default+" "+Default)
	for _, o := range []Options{{Mapping: "static"}, {Mapping: "table"}, {Mapping: "table", Table: "/does/not/exist"}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "net.topology.") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestScript(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	script := file(t, `#!/bin/sh
echo "$@" >> `+calls+`
for h in "$@"; do echo "/rack/$h/"; done`)
	r, _ := resolver(t, Options{Script: script, ScriptArgs: 3})
	check(t, r, "1.dns n2 n3 n4 n5 n2", "/rack/10.0.0.1 /rack/n2 /rack/n3 /rack/n4 /rack/n5 /rack/n2")
	check(t, r, "n2 1.dns", "/rack/n2 /rack/10.0.0.1")
	ran, err := os.ReadFile(calls)
	if want := "10.0.0.1 n2 n3\nn4 n5\n"; err != nil || string(ran) != want {
		t.Errorf("runs %q, want %q", ran, want)
	}
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	check(t, r, "n2", "/rack/n2")
	if ran, _ = os.ReadFile(calls); !strings.HasSuffix(string(ran), "n4 n5\nn2\n") {
		t.Errorf("after a reload: %q", ran)
	}
}

func TestScriptFailures(t *testing.T) {
	for body, want := range map[string]string{
		"echo /a /b":                         "printed 2 racks for 1 hosts",
		"exit 0":                             "printed 0 racks",
		"echo broken >&2; exit 4":            "exit status 4: broken",
		"echo rack":                          "must begin with a slash",
		"echo /":                             "must begin with a slash and have a name",
		"head -c 400 /dev/zero | tr '\\0' /": "must begin with a slash and have a name",
		"printf /; head -c 300 /dev/zero|tr '\\0' x": "longer than 255",
		"printf '/a\\001'":                           "control character",
		"while :; do echo /rack; done":               "wrote more than",
		"sleep 60":                                   "took longer than",
	} {
		o := Options{Script: file(t, "#!/bin/sh\n"+body)}
		if body == "sleep 60" {
			o.Timeout = 50 * time.Millisecond
		}
		r, log := resolver(t, o)
		for range 3 {
			check(t, r, "n1", Default)
		}
		r.Close()
		if got := log.String(); strings.Count(got, "host=n1") != 1 || !strings.Contains(got, want) {
			t.Errorf("%q logs %s, want %q once", body, got, want)
		}
	}
}

func TestHostNames(t *testing.T) {
	r, log := resolver(t, Options{Script: file(t, "#!/bin/sh\nfor h in \"$@\"; do echo /r; done")})
	for _, host := range []string{"", "-rf", "a b", "a;b", "$(x)", strings.Repeat("x", 256), "ü"} {
		if got := r.Racks(t.Context(), []string{host})[0]; got != Default {
			t.Errorf("%q: %s", host, got)
		}
	}
	check(t, r, "a-b.c_d 10.1.2.3 fe80::1", "/r /r /r")
	r.Close()
	if n := strings.Count(log.String(), "\n"); n != 7 {
		t.Errorf("%d lines logged: %s", n, log)
	}
}

func TestTable(t *testing.T) {
	path := file(t, "# racks\n10.0.0.1 /r1\nn2\t/r2/\n\n n3 /r3 extra\nn4\nn5 r5\n")
	r, _ := resolver(t, Options{Mapping: "table", Table: path})
	check(t, r, "1.dns n2 n3 n4 n5 n6 #", "/r1 /r2 "+strings.TrimSpace(strings.Repeat(Default+" ", 5)))
	if err := os.WriteFile(path, []byte("n2 /new"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, r, "n2", "/r2")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	check(t, r, "n2 1.dns", "/new "+Default)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "stays in force") {
		t.Error(err)
	}
	check(t, r, "n2", "/new")
}

// fake replaces the source of a resolver by a function of one batch.
func fake(t *testing.T, o Options, find func(ctx context.Context, batch []question)) *Resolver {
	o.Script, o.Log = "unused", slog.New(slog.DiscardHandler)
	r, _ := resolver(t, o)
	r.find = find
	return r
}

func TestCallersWaitNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, Options{Wait: 2 * time.Second}, func(ctx context.Context, batch []question) {
			select {
			case <-time.After(10 * time.Second):
				batch[0].rack = "/slow"
			case <-ctx.Done():
				batch[0].err = ctx.Err()
			}
		})
		begun := time.Now()
		check(t, r, "n1", Default)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := r.Rack(ctx, "n1"); got != Default || time.Since(begun) != 3*time.Second {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
		time.Sleep(8 * time.Second)
		check(t, r, "n1", "/slow") // found meanwhile
		check(t, r, "n2", Default)
		r.Close() // ends the lookup under way
		check(t, r, "n3", Default)
		if took := time.Since(begun); took != 13*time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		r := fake(t, Options{}, func(_ context.Context, batch []question) {
			if tries++; tries < 3 {
				batch[0].err = errors.New("not now")
				return
			}
			batch[0].rack = "/r"
		})
		for i, want := range []string{Default, Default, "/r"} {
			check(t, r, "n1 n1", want+" "+want)
			check(t, r, "n1", want)
			if tries != i+1 {
				t.Errorf("%d tries, want %d", tries, i+1)
			}
			time.Sleep(retryAfter)
		}
	})
}

func TestReloadDuringLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		racks := []string{"/old", "/new"}
		r := fake(t, Options{}, func(_ context.Context, batch []question) {
			batch[0].rack, racks = racks[0], racks[1:]
			time.Sleep(time.Second)
		})
		go func() {
			time.Sleep(500 * time.Millisecond)
			if err := r.Reload(); err != nil {
				t.Error(err)
			}
		}()
		check(t, r, "n1", "/new")
	})
}

func TestConcurrentAndBounded(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	r := fake(t, Options{MaxHosts: 50, ScriptArgs: 7}, func(_ context.Context, batch []question) {
		mu.Lock()
		defer mu.Unlock()
		for i := range batch {
			batch[i].rack = "/r/" + batch[i].host
		}
		asked += len(batch)
	})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 100 {
				host := fmt.Sprintf("n%d", (i*7+g)%40)
				if got := r.Rack(t.Context(), host); got != "/r/"+host {
					t.Errorf("%s: %s", host, got)
				}
			}
		})
	}
	all.Wait()
	if asked != 40 {
		t.Errorf("asked %d times for 40 hosts", asked)
	}
	for i := range 500 {
		r.Rack(t.Context(), fmt.Sprint("m", i))
	}
	if len(r.hosts) > 50 || len(r.order) > 50 || len(r.queue) > 0 {
		t.Errorf("%d hosts kept", len(r.hosts))
	}
}

func TestJavaText(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "2001:db8::1f": "2001:db8:0:0:0:0:0:1f", "::": "0:0:0:0:0:0:0:0"} {
		if got := javaText(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got, err := address(t.Context(), "localhost"); err != nil || got != "127.0.0.1" {
		t.Errorf("localhost: %s, %v", got, err)
	}
}
