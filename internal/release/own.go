package release

import (
	"runtime/debug"
	"sync"
)

// Version is Heddle's own, which says nothing of Hadoop's. The linker may set another one.
var Version = "0.1.0-dev"

// Set by the linker (-X) where Go does not find out itself, as `make build` does.
var commit, date string

// Unknown is the commit of a program that was built without its repository.
const Unknown = "unknown"

// Build is which source this program was made of.
type Build struct {
	Commit string // its hash, with "-modified" behind it if files had changed; Unknown
	Date   string // of the commit, RFC 3339; Unknown
}

// Own is the build of the running program.
var Own = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(commit, date, info)
})

// buildOf takes what the linker was told, else what Go noted.
func buildOf(commit, date string, info *debug.BuildInfo) Build {
	b := Build{commit, date}
	if b.Commit == "" && info != nil {
		noted := map[string]string{}
		for _, s := range info.Settings {
			noted[s.Key] = s.Value
		}
		if b = (Build{noted["vcs.revision"], noted["vcs.time"]}); b.Commit != "" && noted["vcs.modified"] == "true" {
			b.Commit += "-modified"
		}
	}
	if b.Commit == "" {
		b.Commit = Unknown
	}
	if b.Date == "" {
		b.Date = Unknown
	}
	return b
}

// String names the program for people: "Heddle 1.2.3, commit 0123456789ab".
func (b Build) String() string { return "Heddle " + Version + ", commit " + b.Short() }

// Short is the commit with the first digits of its hash.
func (b Build) Short() string {
	const digits, mark = 12, "-modified"
	hash, changed := b.Commit, ""
	if n := len(hash) - len(mark); n > 0 && hash[n:] == mark {
		hash, changed = hash[:n], mark
	}
	return hash[:min(len(hash), digits)] + changed
}
