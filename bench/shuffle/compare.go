package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// compare measures two servers in the order A B B A, so that a slow drift of the
// machine falls on both, and prints medians and their ratio.
func compare(args []string) error {
	f := flag.NewFlagSet("compare", flag.ExitOnError)
	start := [2]*string{f.String("a", "", "command line that becomes server A"), f.String("b", "", "command line that becomes server B")}
	pairs := f.Int("pairs", 5, "pairs of runs")
	server := f.String("server-cpus", "0", "processors for the server, as for taskset; empty for all")
	driver := f.String("driver-cpus", "1", "processors for the driver")
	address := f.String("address", "127.0.0.1:13562", "where both servers listen")
	raw := f.String("raw", "", "append the raw lines to this file")
	f.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: shuffle compare -a CMD -b CMD [flags] -- [flags of fetch]")
		f.PrintDefaults()
	}
	f.Parse(args)
	figures := [2]map[string][]float64{{}, {}}
	for i := range 2 * *pairs {
		side := []int{0, 1, 1, 0}[i%4]
		line, err := measure(*start[side], *server, *driver, append([]string{"-address", *address, "-label", "AB"[side : side+1]}, f.Args()...), *address)
		if err != nil {
			return fmt.Errorf("run %d of %c: %w", i+1, "AB"[side], err)
		}
		if err := note(*raw, line); err != nil {
			return err
		}
		if err := collect(figures[side], line); err != nil {
			return err
		}
	}
	print(figures)
	return nil
}

// measure starts a server, loads it, stops it, and returns the line of figures.
func measure(start, serverCPUs, driverCPUs string, args []string, address string) ([]byte, error) {
	p := exec.Command("sh", "-c", "exec "+start)
	if serverCPUs != "" {
		p = exec.Command("taskset", "-c", serverCPUs, "sh", "-c", "exec "+start)
	}
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		return nil, err
	}
	defer func() {
		p.Process.Signal(syscall.SIGTERM)
		p.Wait()
	}()
	if err := await(address); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := append([]string{self, "fetch", "-pid", strconv.Itoa(p.Process.Pid)}, args...)
	if driverCPUs != "" {
		argv = append([]string{"taskset", "-c", driverCPUs}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func await(address string) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}

func note(file string, line []byte) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(line)
	return err
}

func collect(to map[string][]float64, line []byte) error {
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	latency, _ := v["latency"].(map[string]any)
	for k, x := range latency {
		v["latency."+k] = x
	}
	for k, x := range v {
		if n, ok := x.(float64); ok {
			to[k] = append(to[k], n)
		}
	}
	return nil
}

func print(figures [2]map[string][]float64) {
	fmt.Printf("%-28s %12s %12s %8s   %s\n", "figure", "A", "B", "B/A", "A min..max | B min..max")
	for _, k := range slices.Sorted(maps.Keys(figures[0])) {
		a, b := slices.Sorted(slices.Values(figures[0][k])), slices.Sorted(slices.Values(figures[1][k]))
		if len(b) == 0 {
			continue
		}
		x, y := a[len(a)/2], b[len(b)/2]
		ratio := "-"
		if x != 0 {
			ratio = strings.TrimSpace(fmt.Sprintf("%.3f", y/x))
		}
		fmt.Printf("%-28s %12.3f %12.3f %8s   %.3f..%.3f | %.3f..%.3f\n", k, x, y, ratio, a[0], a[len(a)-1], b[0], b[len(b)-1])
	}
}
