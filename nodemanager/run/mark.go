package run

import (
	"context"
	"hash/fnv"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// The variables by which a container's processes are known. The second tells containers of several nodes apart that have
// one id; it is not looked at where the working directory is not known.
const (
	mark      = "CONTAINER_ID"
	placeMark = "HADOOP_TOKEN_FILE_LOCATION"
)

// A brand is a number by which a container's processes are recognized. It is set as a resource limit that has no practical
// effect: the microseconds that a process may run without a break under a real-time policy, more than a hundred thousand years.
// A process can change its parent, session, directory and environment, but its children inherit its limits, and a hard limit
// cannot be raised without CAP_SYS_RESOURCE. So a process that makes itself a daemon is still found.
type brand uint64

// brandBase keeps brands apart from limits that an administrator may have set.
const brandBase = 1 << 62

// brandOf is a container's brand. It depends only on the private directory, so that it is the same after a restart of the
// daemon.
func brandOf(privateDir string) brand {
	h := fnv.New64a()
	h.Write([]byte(privateDir))
	return brand(brandBase | h.Sum64()>>2)
}

// brandLimit bounds the trial run of the program that sets limits.
const brandLimit = 10 * time.Second

// findBrander finds the program that sets limits. It returns "" if the daemon cannot set this limit or a trial run fails, so
// that no container fails because of it.
func (l *Launcher) findBrander() string {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &own); err != nil || own.Max != unix.RLIM_INFINITY {
		return ""
	}
	path := l.program("prlimit")
	ctx, cancel := context.WithTimeout(context.Background(), brandLimit)
	defer cancel()
	args := brandedBy(path, brandBase, []string{"/bin/bash", "-c", ":"})
	if err := exec.CommandContext(ctx, args[0], args[1:]...).Run(); err != nil {
		l.cfg.Log.Warn("containers that become daemons may live on: their limits cannot be set", "program", path, "error", err)
		return ""
	}
	return path
}

// branded are the arguments that run a program with the brand.
func (l *Launcher) branded(b brand, args []string) []string {
	if path := l.brander(); path != "" {
		return brandedBy(path, b, args)
	}
	return args
}

func brandedBy(path string, b brand, args []string) []string {
	n := strconv.FormatUint(uint64(b), 10)
	return slices.Concat([]string{path, "--rttime=" + n + ":" + n}, args)
}

// marked tells whether the process was started with the container's environment, or by one of its processes.
func (p *Process) marked(pid int) bool {
	if n, ok := process.Linux.RealtimeLimit(pid); ok && brand(n) == p.brand {
		return true
	}
	if id, _ := process.Linux.Variable(pid, mark); id != p.id.String() {
		return false
	}
	if p.workDir == "" {
		return true
	}
	place, _ := process.Linux.Variable(pid, placeMark)
	return place == filepath.Join(p.workDir, tokensFile)
}

// orphans are the processes that bear the container's mark and whose parents have ended, wherever they have gone to.
func (p *Process) orphans(t *process.Table) []process.Info {
	return slices.DeleteFunc(orphans(t), func(info process.Info) bool { return info.Start < p.started || !p.marked(info.PID) })
}
