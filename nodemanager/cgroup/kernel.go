package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kernel is what groups are made of. Tests have another, of plain files.
type kernel struct {
	mounts string // a file like /proc/mounts
	mkdir  func(dir string) error
	rmdir  func(dir string) error // of a group: its files go with it
}

var linux = kernel{
	mounts: "/proc/mounts",
	mkdir:  func(dir string) error { return os.Mkdir(dir, 0o755) },
	rmdir:  func(dir string) error { return os.NewSyscallError("rmdir", syscall.Rmdir(dir)) },
}

// The files of a group.
const (
	controllersFile = "cgroup.controllers"
	subtreeFile     = "cgroup.subtree_control"
	killFile        = "cgroup.kill"
	eventsFile      = "memory.events"
	memoryMax       = "memory.max"
	memoryLow       = "memory.low"
	swapMax         = "memory.swap.max"
	cpuWeight       = "cpu.weight"
	cpuMax          = "cpu.max"
)

// write sets a file of a group, which it never makes.
func write(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// words reads a list from a file of a group.
func words(dir, name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	return strings.Fields(string(text)), err
}

// lacking are the words that are not in the list.
func lacking(wanted, list []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(w string) bool { return slices.Contains(list, w) })
}

// findMount is where a hierarchy of version 2 with these controllers is mounted.
func (k kernel) findMount(wanted []string) (string, error) {
	text, err := os.ReadFile(k.mounts)
	if err != nil {
		return "", err
	}
	var seen []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != "cgroup2" {
			continue
		}
		dir := unescape.Replace(fields[1])
		offered, err := words(dir, controllersFile)
		if err == nil && len(lacking(wanted, offered)) == 0 {
			return dir, nil
		}
		seen = append(seen, fmt.Sprintf("%s has %q", dir, strings.Join(offered, " ")))
	}
	if len(seen) == 0 {
		seen = []string{"none is mounted"}
	}
	return "", fmt.Errorf("no hierarchy of cgroup version 2 has the controllers %q: %s. Start the machine with "+
		"systemd.unified_cgroup_hierarchy=1, or %s", strings.Join(wanted, " "), strings.Join(seen, ", "), switchOff)
}

// unescape undoes how the kernel writes spaces in /proc/mounts.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// switchOff is the advice to operators on machines where limits are not
// possible.
const switchOff = "set yarn.nodemanager.resource.memory.enabled and yarn.nodemanager.resource.cpu.enabled to false"
