package nodemanager

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/nodemanager/process"
)

// machine is what the hardware has.
func machine() (conf.Machine, error) {
	mem, err := process.Linux.Memory()
	if err != nil {
		return conf.Machine{}, fmt.Errorf("cannot read the size of the machine: %w", err)
	}
	return conf.Machine{MemoryMB: mem.Physical / mib, Processors: runtime.NumCPU(), Cores: cores()}, nil
}

// cores counts the physical ones, which the kernel lists by package and core; if it does not, every processor is one.
func cores() int {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.NumCPU()
	}
	seen := map[string]bool{}
	pack := ""
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "physical id":
			pack = strings.TrimSpace(value)
		case "core id":
			seen[pack+"/"+strings.TrimSpace(value)] = true
		}
	}
	if len(seen) == 0 {
		return runtime.NumCPU()
	}
	return len(seen)
}

func modeOf(bits uint32) fs.FileMode { return fs.FileMode(bits) & fs.ModePerm }

// lookupPatience bounds the questions that a start asks the name service.
const lookupPatience = 5 * time.Second

// hostName is what the node calls itself when it listens at an address: the name of that address, or of the machine when it
// listens at all of them.
// compat: that is how stock NodeManagers name themselves, and container tokens bear that name.
func hostName(bound net.IP) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
	defer cancel()
	if bound.IsUnspecified() {
		name, err := os.Hostname()
		if err != nil {
			return bound.String()
		}
		return name
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, bound.String())
	if err != nil || len(names) == 0 {
		return bound.String()
	}
	return strings.TrimSuffix(names[0], ".")
}
