package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxNodeFile bounds meminfo and stat, which grow with processors and interrupts.
const maxNodeFile = 4 << 20

// Memory is the machine's, in bytes.
type Memory struct {
	Physical, Available       int64 // Available includes what holds only file contents
	Virtual, AvailableVirtual int64 // with swap
}

// Memory reads meminfo. compat: SysInfoLinux: memory that is broken or set aside for huge pages does not count, and what is
// available is what is free and what is inactive, not the kernel's own estimate, so that both NodeManagers report alike.
func (r Root) Memory() (Memory, error) {
	text, err := readUpTo(filepath.Join(string(r), "meminfo"), maxNodeFile)
	if err != nil {
		return Memory{}, fmt.Errorf("read the machine's memory: %w", err)
	}
	kB := parseMeminfo(string(text))
	if kB["MemTotal"] == 0 {
		return Memory{}, errors.New("read the machine's memory: meminfo has no MemTotal")
	}
	inactive, ok := kB["Inactive(file)"]
	if !ok {
		inactive = kB["Inactive"]
	}
	m := Memory{
		Physical:  (kB["MemTotal"] - kB["HardwareCorrupted"] - kB["HugePages_Total"]*kB["Hugepagesize"]) << 10,
		Available: (kB["MemFree"] + inactive) << 10,
	}
	m.Virtual, m.AvailableVirtual = m.Physical+kB["SwapTotal"]<<10, m.Available+kB["SwapFree"]<<10
	return m, nil
}

// parseMeminfo reads lines "Name: number kB". Others, and numbers that are none, are left out.
func parseMeminfo(text string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 52); err == nil && n >= 0 {
			out[name] = n
		}
	}
	return out
}

// CPU is how the machine's processors were used since boot.
type CPU struct {
	Busy       int64 // jiffies of all together; waiting for disks and serving interrupts is left out (compat: SysInfoLinux)
	Processors int
}

// CPU reads stat.
func (r Root) CPU() (CPU, error) {
	text, err := readUpTo(filepath.Join(string(r), "stat"), maxNodeFile)
	if err != nil {
		return CPU{}, fmt.Errorf("read the processors' use: %w", err)
	}
	c, err := parseCPU(string(text))
	if err != nil {
		return CPU{}, fmt.Errorf("read the processors' use: %w", err)
	}
	return c, nil
}

// parseCPU reads "cpu user nice system ..." and counts the lines "cpuN".
func parseCPU(text string) (CPU, error) {
	var c CPU
	found := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			c.Processors++
			continue
		}
		found = true
		for _, field := range fields[1:4] {
			n, err := strconv.ParseInt(field, 10, 60)
			if err != nil || n < 0 {
				return CPU{}, fmt.Errorf("stat has %q for a time", field)
			}
			c.Busy += n
		}
	}
	if !found {
		return CPU{}, errors.New("stat has no line cpu")
	}
	return c, nil
}

// Cores is how many processors were busy, on average, between two readings of CPU.
func (c CPU) Cores(before CPU, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(max(c.Busy-before.Busy, 0)) * float64(Jiffy) / float64(elapsed)
}
