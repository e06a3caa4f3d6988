package java

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	kernel "github.com/heddle-project/heddle/nodemanager/process"
)

// mark is the variable by which processes are known; its value is where they work.
const mark = "HEDDLE_LOCALIZER"

// Bounds of ending what an earlier life has left.
const (
	killLimit = 5 * time.Second
	killPause = 20 * time.Millisecond
)

// KillLeftovers ends the processes of an earlier life that work below the local directories. There are none as a rule: the
// kernel ends them with the daemon.
func KillLeftovers(localDirs []string) error {
	for end := time.Now().Add(killLimit); ; time.Sleep(killPause) {
		left, err := leftovers(localDirs)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d localizers of an earlier life are still there after SIGKILL and %v", len(left), killLimit)
		}
	}
}

func leftovers(localDirs []string) ([]int, error) {
	table, err := kernel.Linux.Table()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, info := range table.All() {
		if info.Dead() || info.PID <= 1 || info.PID == os.Getpid() {
			continue
		}
		at, ok := kernel.Linux.Variable(info.PID, mark)
		for _, local := range localDirs {
			if ok && strings.HasPrefix(at, local+"/") {
				out = append(out, info.PID)
				break
			}
		}
	}
	return out, nil
}
