package logs

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Levels are the levels of a daemon's loggers, which can be changed while it runs, by log4j's rules: a logger has the level that was set
// for its name, or else for the longest prefix of it that ends before a dot, or else that of the root. Its methods are safe for
// concurrent use; reading a logger's level takes no lock.
type Levels struct {
	root *slog.LevelVar

	mu    sync.Mutex
	set   map[string]slog.Level     // by full name
	known map[string]*slog.LevelVar // of the loggers that there are, by full name
}

// maxSet bounds the names whose levels can be set.
const maxSet = 1000

// NewLevels has all loggers at one level.
func NewLevels(root slog.Level) *Levels {
	l := &Levels{root: &slog.LevelVar{}, set: map[string]slog.Level{}, known: map[string]*slog.LevelVar{}}
	l.root.Set(root)
	return l
}

// LevelsOf are those of a log that New made with Levels; nil for others.
func LevelsOf(log *slog.Logger) *Levels {
	if log == nil {
		return nil
	}
	h, ok := log.Handler().(*Handler)
	if !ok {
		return nil
	}
	return h.levels
}

// Level implements slog.Leveler: it is the root's.
func (l *Levels) Level() slog.Level { return l.root.Level() }

// of is the level of a logger, which follows what is set.
func (l *Levels) of(name string) slog.Leveler {
	full := fullName(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.known[full]
	if v == nil {
		v = &slog.LevelVar{}
		v.Set(l.effective(full))
		l.known[full] = v
	}
	return v
}

// Get is the level that a logger of that name has, or would have.
func (l *Levels) Get(name string) slog.Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.effective(fullName(name))
}

// Set sets the level for a name and for what is below it.
func (l *Levels) Set(name string, level slog.Level) error {
	full := fullName(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if full == "" {
		l.root.Set(level)
	} else {
		if _, again := l.set[full]; !again && len(l.set) >= maxSet {
			return fmt.Errorf("cannot set the level of %.200q: levels of %d names are set already; restart the daemon to forget them", name, maxSet)
		}
		l.set[full] = level
	}
	for known, v := range l.known {
		v.Set(l.effective(known))
	}
	return nil
}

// Loggers are the names of the loggers at or below a name, which what is set for it concerns.
func (l *Levels) Loggers(name string) []string {
	full := fullName(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, known := range slices.Sorted(maps.Keys(l.known)) {
		if full == "" || known == full || strings.HasPrefix(known, full+".") {
			out = append(out, known)
		}
	}
	return out
}

func (l *Levels) effective(full string) slog.Level {
	for name := full; name != ""; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
		if level, ok := l.set[name]; ok {
			return level
		}
	}
	return l.root.Level()
}

// java are the names that Hadoop's loggers for the same matters have, or their packages. Lines have the short names; levels can be set by
// either.
var java = map[string]string{
	"resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager",
	"scheduler":       "org.apache.hadoop.yarn.server.resourcemanager.scheduler",
	"launch":          "org.apache.hadoop.yarn.server.resourcemanager.amlauncher",
	"elect":           "org.apache.hadoop.yarn.server.resourcemanager.ActiveStandbyElectorBasedElectorService",
	"nodemanager":     "org.apache.hadoop.yarn.server.nodemanager",
	"localize":        "org.apache.hadoop.yarn.server.nodemanager.containermanager.localizer",
	"localizer":       "org.apache.hadoop.yarn.server.nodemanager.containermanager.localizer.ResourceLocalizationService",
	"logs":            "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation",
	"health":          "org.apache.hadoop.yarn.server.nodemanager.health",
	"shuffle":         "org.apache.hadoop.mapred.ShuffleHandler",
	"logserver":       "org.apache.hadoop.mapreduce.v2.hs",
	"ipc":             "org.apache.hadoop.ipc.Server",
	"web":             "org.apache.hadoop.http.HttpServer2",
	"zookeeper":       "org.apache.zookeeper",
}

// fullName is the name by which levels are kept: Hadoop's, where it has such a logger. The root's is empty.
func fullName(name string) string {
	if name == "" || name == "root" {
		return ""
	}
	first, rest, nested := strings.Cut(name, ".")
	full, ok := java[first]
	switch {
	case !ok:
		return name
	case nested:
		return full + "." + rest
	}
	return full
}

// levelNames are log4j's.
var levelNames = []struct {
	name  string
	level slog.Level
}{{"ALL", slog.LevelDebug - 8}, {"TRACE", slog.LevelDebug - 4}, {"DEBUG", slog.LevelDebug}, {"INFO", slog.LevelInfo}, {"WARN", slog.LevelWarn},
	{"ERROR", slog.LevelError}, {"FATAL", slog.LevelError + 4}, {"OFF", slog.LevelError + 8}}

// ParseLevel reads a level by log4j's name for it, in any case.
func ParseLevel(name string) (slog.Level, bool) {
	for _, x := range levelNames {
		if strings.EqualFold(x.name, name) {
			return x.level, true
		}
	}
	return 0, false
}

// LevelName is log4j's name for a level that ParseLevel returned.
func LevelName(l slog.Level) string {
	for _, x := range levelNames {
		if l <= x.level {
			return x.name
		}
	}
	return "OFF"
}
