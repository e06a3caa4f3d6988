package health

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/conf"
)

// Space tells how many bytes the file system of a directory has in all, and how
// many of them this process can still write.
type Space func(dir string) (total, usable int64, err error)

func kernelSpace(dir string) (total, usable int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Blocks) * s.Frsize, int64(s.Bavail) * s.Frsize, nil
}

// checkTime bounds one check of one directory. If a disk hangs, the directory
// counts as bad until the check returns; its goroutine stays as long as the
// kernel blocks it.
const checkTime = 30 * time.Second

// dirMode is the mode of directories that the check creates.
const dirMode = 0o755

// longestReturn bounds how long a directory stays out after it became full or
// bad. It stays out for at least ReturnDelay of the rules: the space was most
// likely freed by the cleanup of the containers that failed there, and
// containers like them would fill it again. The delay doubles with each such
// failure, up to longestReturn times ReturnDelay. Once a directory has been
// good for that longest delay, its earlier failures no longer count.
const longestReturn = 20

// disks are the directories of one list. One goroutine uses it.
type disks struct {
	kind  string // as reports name it
	rules conf.NodeDisks
	space Space
	now   func() time.Time
	wait  time.Duration
	all   []*disk
}

type disk struct {
	path    string
	verdict verdict
	answer  chan verdict // receives the result of a check that is under way

	seen  bool      // it has a verdict
	falls int       // failures that still count
	since time.Time // when it became good
	until time.Time // it stays out until then
}

// verdict is what is wrong with a directory.
type verdict struct {
	bad, full     string // why; at most one is not empty
	total, usable int64
}

func (v verdict) good() bool { return v.bad == "" && v.full == "" }

func newDisks(kind string, paths []string, rules conf.NodeDisks, space Space, now func() time.Time) *disks {
	d := &disks{kind: kind, rules: rules, space: space, now: now, wait: checkTime}
	for _, p := range paths {
		d.all = append(d.all, &disk{path: p})
	}
	return d
}

// check looks at all directories at the same time.
func (d *disks) check() {
	timeout := time.NewTimer(d.wait)
	defer timeout.Stop()
	for _, k := range d.all {
		if k.answer == nil {
			answer := make(chan verdict, 1)
			k.answer = answer
			path, wasGood := k.path, k.verdict.good()
			go func() { answer <- look(path, wasGood, d.rules, d.space) }()
		}
	}
	late := false
	for _, k := range d.all {
		if !late {
			select {
			case v := <-k.answer:
				d.found(k, v)
				continue
			case <-timeout.C:
				late = true
			}
		}
		select {
		case v := <-k.answer:
			d.found(k, v)
		default:
			d.judge(k, verdict{bad: fmt.Sprintf("No answer within %s: %s", d.wait, k.path)})
		}
	}
}

func (d *disks) found(k *disk, v verdict) {
	k.answer = nil
	d.judge(k, v)
}

// judge records the result of a check. A directory that had failed becomes good
// again only after its delay.
func (d *disks) judge(k *disk, v verdict) {
	now := d.now()
	longest := longestReturn * d.rules.ReturnDelay
	switch was := k.verdict.good(); {
	case !v.good() && was && k.seen:
		if now.Sub(k.since) >= longest {
			k.falls = 0
		}
		delay := longest
		if k.falls < 5 { // 1 << 5 is above longestReturn
			delay = min(d.rules.ReturnDelay<<k.falls, longest)
		}
		k.falls++
		k.until = now.Add(delay)
	case v.good() && now.Before(k.until):
		v.full = fmt.Sprintf("out until %s, as it was full or failed %d times lately (yarn.nodemanager.heddle.disk-return-delay-ms)",
			k.until.Format("15:04:05"), k.falls)
	case v.good() && (!was || !k.seen):
		k.since = now
	}
	k.verdict, k.seen = v, true
}

// look is the verdict about one directory.
func look(path string, wasGood bool, rules conf.NodeDisks, space Space) verdict {
	if why := unusable(path); why != "" {
		return verdict{bad: why}
	}
	total, free, err := space(path)
	if err != nil {
		return verdict{bad: fmt.Sprintf("Cannot tell the space of %s: %v", path, err)}
	}
	v := verdict{full: full(total, free, wasGood, rules), total: total, usable: free}
	if v.full == "" && rules.Contents {
		v.bad = contents(path)
	}
	if v.good() {
		v.full, v.bad = try(path)
	}
	return v
}

// try creates a directory and removes it: a disk with free space may have no
// inodes or quota left, and a failed disk may show it only on a write.
func try(path string) (full, bad string) {
	name, err := os.MkdirTemp(path, ".health-")
	if err == nil {
		err = os.Remove(name)
	}
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "no room for another file or directory", ""
	}
	return "", fmt.Sprintf("Cannot create directory in %s: %v", path, err)
}

// full says why a directory must not be written to. One that was not good before
// has to be below the watermarks to come back.
func full(total, usable int64, wasGood bool, r conf.NodeDisks) string {
	most, least := r.MaxUsed, r.MinFreeMB
	if !wasGood {
		most, least = r.MaxUsedReturn, r.MinFreeReturnMB
	}
	if r.UtilizationRule && total > 0 {
		used := 100 - 100*(float32(usable)/float32(total))
		if used > float32(most) || used >= 100 {
			return "used space above threshold of " + javaFloat(most) + "%"
		}
	}
	if r.FreeRule && usable>>20 < least {
		return fmt.Sprintf("free space below limit of %dMB", least)
	}
	return ""
}

// javaFloat prints as Java does, with a decimal at least.
func javaFloat(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 32)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Bits of access(2).
const (
	mayExecute = 1
	mayWrite   = 2
	mayRead    = 4
)

// unusable makes a directory that is missing and says why one cannot be used. A
// file system that has become read-only is not writable even for root.
func unusable(path string) string {
	if err := makeDir(path); err != nil {
		return "Cannot create directory: " + path
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "Not a directory: " + path
	}
	return inaccessible(path)
}

// inaccessible says why a directory cannot be listed, written or entered.
func inaccessible(path string) string {
	for _, a := range []struct {
		mode uint32
		word string
	}{{mayRead, "readable"}, {mayWrite, "writable"}, {mayExecute, "executable"}} {
		if syscall.Access(path, a.mode) != nil {
			return "Directory is not " + a.word + ": " + path
		}
	}
	return ""
}

// makeDir makes a directory and what is missing above it, whatever the umask.
func makeDir(path string) error {
	_, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, dirMode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(path, dirMode)
}

// contents reports what below a directory cannot be read
// (yarn.nodemanager.disk-health-checker.working-dir-content-accessibility-validation.enabled). Entries that disappear during
// the check are ignored.
func contents(root string) string {
	var why string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			why = err.Error()
		case e.IsDir():
			why = inaccessible(path)
		case e.Type().IsRegular() && syscall.Access(path, mayRead) != nil:
			why = "Can not read " + path
		}
		if why == "" {
			return nil
		}
		if _, err := os.Lstat(path); path != root && errors.Is(err, fs.ErrNotExist) {
			why = ""
			return nil
		}
		return filepath.SkipAll
	})
	return why
}

// dirs groups the directories by their state.
func (d *disks) dirs() Dirs {
	var out Dirs
	var total, usable int64
	for _, k := range d.all {
		switch {
		case k.verdict.bad != "":
			out.Bad = append(out.Bad, k.path)
		case k.verdict.full != "":
			out.Full = append(out.Full, k.path)
		default:
			out.Good = append(out.Good, k.path)
			total, usable = total+k.verdict.total, usable+k.verdict.usable
		}
	}
	if total > 0 {
		out.Percent = int(float64(total-usable) / float64(total) * 100)
	}
	return out
}

// report says what is wrong with the directories, in Hadoop's words and with
// its spaces; empty if nothing is. compat: only that of full local directories
// ends in a semicolon.
func (d *disks) report() string {
	var bad, full []string
	for _, k := range d.all {
		switch {
		case k.verdict.bad != "":
			bad = append(bad, k.path+" : "+k.verdict.bad)
		case k.verdict.full != "":
			full = append(full, k.path+" : "+k.verdict.full)
		}
	}
	out := ""
	if len(bad) > 0 {
		out += fmt.Sprintf("%d/%d %s have errors:  [ %s ] ", len(bad), len(d.all), d.kind, strings.Join(bad, " , "))
	}
	if len(full) > 0 {
		out += fmt.Sprintf("%d/%d %s usable space is below configured utilization percentage/no more usable space [ %s ] ",
			len(full), len(d.all), d.kind, strings.Join(full, " , "))
		if d.kind == "local-dirs" {
			out += "; "
		}
	}
	return out
}
