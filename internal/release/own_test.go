package release

import (
	"runtime/debug"
	"testing"
)

func TestOwn(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	noted := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: hash},
			{Key: "vcs.time", Value: "2026-11-23T20:00:00Z"}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, x := range []struct {
		name         string
		commit, date string
		info         *debug.BuildInfo
		want         Build
		text         string
	}{
		{"by Go", "", "", noted("false"), Build{hash, "2026-11-23T20:00:00Z"}, "Heddle " + Version + ", commit 0123456789ab"},
		{"changed files", "", "", noted("true"), Build{hash + "-modified", "2026-11-23T20:00:00Z"}, "Heddle " + Version + ", commit 0123456789ab-modified"},
		{"by the linker", "fedcba9876543210", "2026-11-24T00:00:00Z", noted("true"), Build{"fedcba9876543210", "2026-11-24T00:00:00Z"}, "Heddle " + Version + ", commit fedcba987654"},
		{"without a repository", "", "", &debug.BuildInfo{}, Build{"unknown", "unknown"}, "Heddle " + Version + ", commit unknown"},
		{"without anything", "", "", nil, Build{"unknown", "unknown"}, "Heddle " + Version + ", commit unknown"},
	} {
		if got := buildOf(x.commit, x.date, x.info); got != x.want || got.String() != x.text {
			t.Errorf("%s: %+v, %q", x.name, got, got)
		}
	}
	if got := Own(); got.Commit == "" || got.Date == "" {
		t.Errorf("%+v: neither may be empty", got)
	}
}
