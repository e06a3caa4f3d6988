// Command attack attacks the daemons as hostile or unlucky peers would: it starts the real binary in a directory of its own,
// on loopback and free ports, and says what it held and what it cost. Each attack is a driver, in a file of its name.
//
//	go run ./test/attack [-yarn bin/yarn] [-seed N] [-short] [-keep] [DRIVER ...]
//
// Figures, and whether times met their goals, are what a run prints; they fail nothing. What a driver checks is printed as PASS or FAIL,
// and `N passed, N failed` is the last line. The same seed makes the same random attacks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// driver is one kind of attack.
type driver struct {
	name  string
	about string // one line for -h
	run   func(*arena)
}

// drivers in the order in which they run.
var drivers = []driver{
	{"idle", "thousands of connections that say nothing, or half of what they should", idle},
	{"allocate", "allocate calls as large as may be, again and again", allocate},
	{"largest", "every method with its largest request, and what holds the loop", largest},
	{"kills", "the ResourceManager killed -9 while it acknowledges", kills},
	{"archives", "32 archives of a million entries that share one header, and bombs of all kinds", archives},
	{"restarts", "the NodeManager killed -9 while it runs and fetches, and its recovery store damaged or deleted", restarts},
	{"fulldisk", "an application that fills a node's only disk, again and again", fulldisk},
	{"forged", "requests that masters and pages forge, past the proxy and the gate of the web ports", forged},
	{"slowreaders", "every place of a web port taken by connections that read slowly, or ask slowly", slowreaders},
	{"text", "names, reports and addresses that steer terminals, turn writing around or are markup", text},
	{"damage", "bits flipped and pages spoilt in what daemons keep", damage},
	{"answers", "thousands of large answers asked for at a time, read, read slowly and never read", answers},
}

// Bounds of one driver's run: then it is ended, and has failed.
const (
	patience      = 20 * time.Minute
	patienceShort = 3 * time.Minute
)

func main() { os.Exit(run()) }

func run() int {
	f := flag.NewFlagSet("attack", flag.ExitOnError)
	yarn := f.String("yarn", "bin/yarn", "`binary` to attack")
	seed := f.Uint64("seed", 1, "`number` that the random attacks come from")
	short := f.Bool("short", false, "smaller attacks: about 15 s a driver")
	keep := f.Bool("keep", false, "keep the directories with configurations and logs")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "attack [flags] [DRIVER ...]: without names all drivers, in this order:")
		for _, d := range drivers {
			fmt.Fprintf(f.Output(), "  %-12s %s\n", d.name, d.about)
		}
		f.PrintDefaults()
	}
	if err := f.Parse(os.Args[1:]); err != nil {
		return 2
	}
	binary, err := filepath.Abs(*yarn)
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "attack: there is no binary to attack: %v; make build makes one\n", err)
		return 2
	}
	chosen := drivers
	if f.NArg() > 0 {
		chosen = nil
		for _, name := range f.Args() {
			i := slices.IndexFunc(drivers, func(d driver) bool { return d.name == name })
			if i < 0 {
				fmt.Fprintf(os.Stderr, "attack: there is no driver %q; -h lists them\n", name)
				return 2
			}
			chosen = append(chosen, drivers[i])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var sum score
	for _, d := range chosen {
		a := newArena(ctx, d, binary, *seed, *short)
		a.fight(d)
		a.leave(*keep)
		sum.passed += a.passed
		sum.failed += a.failed
		if ctx.Err() != nil {
			fmt.Println("FAIL interrupted")
			sum.failed++
			break
		}
	}
	fmt.Printf("%d passed, %d failed\n", sum.passed, sum.failed)
	if sum.failed > 0 {
		return 1
	}
	return 0
}
