package scen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/bench/internal/sim"
)

// Compare runs one scenario against two servers in the order A B B A, so
// that slow drift of the machine falls on both, and prints the medians of
// every figure and the ratio of B to A.
func Compare(args []string) error {
	o := flags("compare")
	a := o.fs.String("a", "", "command line that starts server A in the foreground")
	b := o.fs.String("b", "", "command line that starts server B")
	pairs := o.fs.Int("pairs", 5, "pairs of runs")
	srv := o.fs.String("server-cpus", "0", "processors for the server, as for taskset; empty for all")
	drv := o.fs.String("driver-cpus", "1", "processors for the driver")
	raw := o.fs.String("raw", "", "append the raw lines to this file")
	log := o.fs.String("log", "", "file for the servers' output")
	o.fs.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: rmbench compare -a CMD -b CMD [flags] -- SCENARIO [scenario flags]")
		o.fs.PrintDefaults()
	}
	o.parse(args)
	scenario := o.fs.Args()
	if *a == "" || *b == "" || len(scenario) == 0 {
		o.fs.Usage()
		return fmt.Errorf("missing arguments")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	figs := [2]map[string][]float64{{}, {}}
	for i := range 2 * *pairs {
		side := []int{0, 1, 1, 0}[i%4]
		argv := []string{"sh", "-c", "exec " + []string{*a, *b}[side]}
		if *srv != "" {
			argv = append([]string{"taskset", "-c", *srv}, argv...)
		}
		p, err := launch(argv, *log)
		if err != nil {
			return err
		}
		c := sim.New(o.cfg)
		err = c.Await(3 * time.Minute)
		var line []byte
		if err == nil {
			argv = append([]string{self}, scenario...)
			argv = append(argv, "-pid", strconv.Itoa(p.Process.Pid), "-label", "AB"[side:side+1],
				"-client-port", strconv.Itoa(c.ClientPort), "-scheduler-port", strconv.Itoa(c.SchedPort), "-tracker-port", strconv.Itoa(c.TrackerPort))
			if *drv != "" {
				argv = append([]string{"taskset", "-c", *drv}, argv...)
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stderr = os.Stderr
			line, err = cmd.Output()
		}
		halt(p)
		if *raw != "" && len(line) > 0 {
			f, e := os.OpenFile(*raw, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if e != nil {
				return e
			}
			f.Write(line)
			f.Close()
		}
		if len(line) == 0 && err != nil {
			return fmt.Errorf("run %d of %c: %w", i+1, "AB"[side], err)
		}
		var v map[string]any
		if err := json.Unmarshal(bytes.TrimSpace(line), &v); err != nil {
			return err
		}
		flatten(figs[side], "", v)
		fmt.Fprintf(os.Stderr, "run %d/%d: %c done\n", i+1, 2**pairs, "AB"[side])
	}
	fmt.Printf("%-44s %14s %14s %9s   %s\n", "figure", "A", "B", "B/A", "A min..max | B min..max")
	for _, k := range slices.Sorted(maps.Keys(figs[0])) {
		x, y := spread(figs[0][k]), spread(figs[1][k])
		if len(figs[1][k]) == 0 {
			continue
		}
		ratio := "-"
		if x[1] != 0 {
			ratio = fmt.Sprintf("%.3f", y[1]/x[1])
		}
		fmt.Printf("%-44s %14.3f %14.3f %9s   %.3f..%.3f | %.3f..%.3f\n", k, x[1], y[1], ratio, x[0], x[2], y[0], y[2])
	}
	return nil
}

func flatten(to map[string][]float64, prefix string, v map[string]any) {
	for k, x := range v {
		switch x := x.(type) {
		case float64:
			to[prefix+k] = append(to[prefix+k], x)
		case map[string]any:
			if !strings.HasPrefix(k, "violations_") {
				flatten(to, prefix+k+".", x)
			}
		}
	}
}
