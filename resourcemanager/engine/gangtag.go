package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The tag of an application by which containers are granted in gangs: heddle.gang=N or heddle.gang=N,timeout=T, where T is in seconds or has a unit.
// Clients that take a list of tags cut it at its commas, so that timeout=T may be a tag of its own.
const (
	tagPrefix  = "heddle."
	gangName   = tagPrefix + "gang="
	timeoutTag = "timeout="
)

// Bounds of the tag.
const (
	MaxGang         = MaxSlice // containers: so many end within one slice, and one answer to a master has room for them
	defaultGangTime = time.Minute
	leastGangTime   = time.Second
	mostGangTime    = time.Hour
)

// gangTag is what the tag says; size 0 is no tag.
type gangTag struct {
	size    int
	timeout int64 // milliseconds
}

func (g gangTag) String() string {
	return fmt.Sprintf("%s%d,%s%s", gangName, g.size, timeoutTag, time.Duration(g.timeout)*time.Millisecond)
}

// gangOfTags reads the tags of an application, which are in lower case.
func gangOfTags(tags []string) (gangTag, error) {
	var found, alone string
	for _, tag := range tags {
		switch {
		case strings.HasPrefix(tag, gangName) && found != "":
			return gangTag{}, fmt.Errorf("it has the tags %q and %q, of which one may be given", found, tag)
		case strings.HasPrefix(tag, gangName):
			found = tag
		case strings.HasPrefix(tag, tagPrefix):
			return gangTag{}, fmt.Errorf("the tag %q is unknown; of those that begin with %s there is %sN[,%sT]", tag, tagPrefix, gangName, timeoutTag)
		case strings.HasPrefix(tag, timeoutTag):
			alone = tag
		}
	}
	if found == "" {
		return gangTag{}, nil
	}
	count, rest, both := strings.Cut(strings.TrimPrefix(found, gangName), ",")
	if !both {
		rest = alone
	}
	size, err := strconv.Atoi(count)
	if err != nil || size < 1 || size > MaxGang {
		return gangTag{}, fmt.Errorf("the tag %q must have the form %sN[,%sT], with N from 1 to %d", found, gangName, timeoutTag, MaxGang)
	}
	timeout := defaultGangTime
	if both || rest != "" {
		value, named := strings.CutPrefix(rest, timeoutTag)
		if timeout, err = parseSeconds(value); err != nil || !named || timeout < leastGangTime || timeout > mostGangTime {
			return gangTag{}, fmt.Errorf("%q in the tags of the gang must have the form %sT, with T in seconds, or such as 90s or 5m, from %s to %s",
				rest, timeoutTag, leastGangTime, mostGangTime)
		}
	}
	return gangTag{size, timeout.Milliseconds()}, nil
}

// parseSeconds reads seconds, or a duration with its unit.
func parseSeconds(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return time.ParseDuration(text)
}
