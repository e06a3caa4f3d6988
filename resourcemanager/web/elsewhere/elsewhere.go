// Package elsewhere sends those who ask a standby to the active ResourceManager.
//
// compat: statuses, texts and headers are those of Hadoop's RMWebAppFilter, but that
// applications' pages (/proxy) are sent there too, where Hadoop's standby answers 500, and that a
// standby shows its own log files.
package elsewhere

import (
	"context"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Config is what the redirects need.
type Config struct {
	// Standby tells whether this ResourceManager is one.
	Standby func() bool
	// Active is where the active one serves its pages, as http://host:port; "" if none is found. It may take as long as asking takes.
	Active func(context.Context) string
	// Connection is the state of the connection to the election's ZooKeeper.
	Connection func() string
	// Self is where this one serves its pages, as http://host:port.
	Self string
}

// The pauses between looks for an active ResourceManager, in seconds: they begin with the first, double, and end when one is longer than the last.
const (
	firstPause = 5
	lastPause  = 300
)

// refreshes is the parameter that counts the looks so far.
const refreshes = "next.refresh.interval"

// own are the paths that a standby answers itself.
var own = map[string]bool{
	"/ws/v1/cluster/info": true, "/cluster/cluster": true, "/conf": true, "/stacks": true, "/logLevel": true, "/logs": true, "/isActive": true, "/jmx": true, "/prom": true,
}

// New is next where this ResourceManager is active, and for what a standby answers itself.
func New(c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Standby() || own[r.URL.Path] || strings.HasPrefix(r.URL.Path, "/static/") || strings.HasPrefix(r.URL.Path, "/logs/") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		at := r.URL.EscapedPath() + query(r.URL.RawQuery)
		if active := c.Active(r.Context()); active != "" {
			w.Header().Set("Location", active+at)
			w.WriteHeader(http.StatusTemporaryRedirect)
			fmt.Fprintf(w, "This is standby RM. The redirect url is: %s\n", html.EscapeString(at))
			return
		}
		c.none(w, r)
	})
}

// none answers where there is no active ResourceManager: browsers ask again, less and less often.
func (c Config) none(w http.ResponseWriter, r *http.Request) {
	text, status := "There is no active RM right now.", http.StatusOK
	if n, ok := looks(r.URL.Query().Get(refreshes)); ok {
		if pause := int(float64(int(firstPause)<<n) * (rand.Float64() + 0.5)); pause <= lastPause {
			text, status = fmt.Sprintf("Can not find any active RM. Will retry in next %d seconds.", pause), http.StatusTemporaryRedirect
			w.Header().Set("Refresh", fmt.Sprintf("%d;url=%s%s%s", pause, c.Self, r.URL.EscapedPath(), counted(r.URL.RawQuery, n+1)))
		}
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s\nHA Zookeeper Connection State: %s\n", text, c.Connection())
}

// looks reads how often was looked. No browser that follows the answers gets beyond a handful.
func looks(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n >= 0 && n < 16
}

// query encodes a query anew, in its order, with the question mark.
func query(raw string) string {
	return join(pairs(raw))
}

// counted is query with another number of looks.
func counted(raw string, n int) string {
	value, all := strconv.Itoa(n), pairs(raw)
	for i := range all {
		if all[i][0] == refreshes {
			all[i] = []string{refreshes, value}
			return join(all)
		}
	}
	return join(append(all, []string{refreshes, value}))
}

// pairs are the names and values of a query; what is not well encoded is taken as it stands.
// A pair without "=" is a name without a value.
func pairs(raw string) (out [][]string) {
	plain := func(s string) string {
		if p, err := url.QueryUnescape(s); err == nil {
			return p
		}
		return s
	}
	for part := range strings.SplitSeq(raw, "&") {
		if part != "" {
			name, value, ok := strings.Cut(part, "=")
			pair := []string{plain(name)}
			if ok {
				pair = append(pair, plain(value))
			}
			out = append(out, pair)
		}
	}
	return out
}

func join(all [][]string) string {
	parts := make([]string, len(all))
	for i, p := range all {
		words := make([]string, len(p))
		for j, w := range p {
			words[j] = url.QueryEscape(w)
		}
		parts[i] = strings.Join(words, "=")
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}
