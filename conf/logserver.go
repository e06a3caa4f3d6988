package conf

import (
	"math"
	"time"
)

// LogServerFiles are the files that the server for collected logs reads beside the standard set; it may
// be absent (Options.Optional).
var LogServerFiles = []string{"mapred-site.xml"}

// LogServer is every setting of the server for collected logs. It stands where the JobHistoryServer
// of MapReduce does, so it listens where that one would; `jhs.` stands for `mapreduce.jobhistory.`.
type LogServer struct {
	Endpoint                          // jhs.webapp.address, 19888; jhs.bind-host
	ResourceManager     Address       // yarn.resourcemanager.webapp.address, or that of the first rm-id: where the pages lead to
	StaticUser          string        // hadoop.http.staticuser.user
	SimpleAnonymous     bool          // hadoop.http.authentication.simple.anonymous.allowed
	SignatureSecretFile string        // hadoop.http.authentication.signature.secret.file
	CookieLife          time.Duration // hadoop.http.authentication.token.validity
	CrossOrigin         CrossOrigin   // hadoop.http.cross-origin.*
	FrameOptions        string        // jhs.webapp.xfs-filter.xframe-options; "" when yarn.webapp.xfs-filter.enabled is false
	Introspection       Introspection
	Security            Security
	DefaultFS           string // fs.defaultFS
	Retention           Retention
}

// Retention says for how long collected logs are kept.
type Retention struct {
	On     bool          // yarn.log-aggregation-enable, and yarn.log-aggregation.retain-seconds is not negative
	Retain time.Duration // yarn.log-aggregation.retain-seconds
	Check  time.Duration // yarn.log-aggregation.retain-check-interval-seconds; if that is not positive, a tenth of Retain
}

const jhs = "mapreduce.jobhistory."

// ReadLogServer turns properties into settings. The error is Problems with every bad value. It is a
// pure function: same properties, same answer.
func ReadLogServer(p *Properties) (*LogServer, error) {
	r := NewReader(p)
	at := r.Address(jhs+"webapp.address", "0.0.0.0:19888", 19888)
	s := &LogServer{
		Endpoint:            Endpoint{Address: at, Bind: r.Bind(jhs+"bind-host", at)},
		ResourceManager:     r.resourceManagerPages(),
		StaticUser:          r.String("hadoop.http.staticuser.user", "dr.who"),
		SimpleAnonymous:     r.Bool("hadoop.http.authentication.simple.anonymous.allowed", true),
		SignatureSecretFile: r.String("hadoop.http.authentication.signature.secret.file", ""),
		CookieLife:          r.Duration("hadoop.http.authentication.token.validity", 10*time.Hour, time.Second, time.Second),
		CrossOrigin:         r.crossOrigin(jhs),
		Introspection:       r.introspection(),
		Security:            r.security(),
		DefaultFS:           r.String("fs.defaultFS", "file:///"),
		Retention:           r.retention(),
	}
	frame := r.Enum(jhs+"webapp.xfs-filter.xframe-options", "SAMEORIGIN", "SAMEORIGIN", "DENY")
	if r.Bool("yarn.webapp.xfs-filter.enabled", true) {
		s.FrameOptions = frame
	}
	if r.Enum(jhs+"http.policy", "HTTP_ONLY", "HTTP_ONLY", "HTTPS_ONLY") == "HTTPS_ONLY" {
		r.Fail(jhs+"http.policy", "HTTPS is not built: set it to HTTP_ONLY, or run the JobHistoryServer of Hadoop")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// shortestCheck bounds how often all collected logs are looked through.
const shortestCheck = time.Second

func (r *Reader) retention() Retention {
	const name = "yarn.log-aggregation.retain-"
	keep := r.Duration(name+"seconds", -1, time.Second, math.MinInt64)
	check := r.Duration(name+"check-interval-seconds", -1, time.Second, math.MinInt64)
	if check <= 0 {
		check = keep / 10
	}
	return Retention{On: r.Bool("yarn.log-aggregation-enable", false) && keep >= 0, Retain: keep, Check: max(check, shortestCheck)}
}
