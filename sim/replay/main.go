// Package replay plays recorded scenarios on the ResourceManager's engine and
// scheduler, without a cluster: the commands are those that the protocols would
// give, the clock is the scenario's, and the store answers at once.
package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/progress"
	"github.com/heddle-project/heddle/sim/replay/plan"
	"github.com/heddle-project/heddle/sim/trace"
)

const usage = `Usage: yarn sim replay [--check] [--out DIR] TRACE...
Plays scenarios (.jsonl, .jsonl.gz, - is standard input) and prints what each event showed.
  --out DIR   write the answers to files of the same names in DIR; needed with more than one trace
  --check     print no answers but the first difference from what was recorded, and why
Exits with 0 when every scenario was played, or is equal; with 1 when one cannot be played or --check finds a difference; with 2 for a wrong
command line.
`

// Main is the command "sim replay" without these two words. It returns the
// exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "sim replay: %v\n%s", err, usage)
		return 2
	}
	if o.help {
		fmt.Fprint(stdout, usage)
		return 0
	}
	done := 0
	meter := progress.New(stderr, time.Now, "replaying", progress.Count("traces"))
	for i, name := range o.files {
		meter.Set(int64(i), int64(len(o.files)))
		switch err := o.replay(name, stdout); {
		case err == nil:
			done++
		case !errors.Is(err, errDiffers):
			fmt.Fprintf(stderr, "sim replay: %v\n", err)
		}
	}
	meter.End()
	if len(o.files) > 1 {
		fmt.Fprintln(stdout, o.summary(done))
	}
	if done < len(o.files) {
		return 1
	}
	return 0
}

// summary is one line about so many traces that were played, or are equal.
func (o *options) summary(done int) string {
	if o.check {
		return fmt.Sprintf("%d of %d traces equal", done, len(o.files))
	}
	return fmt.Sprintf("%d of %d traces replayed, answers in %s", done, len(o.files), o.out)
}

type options struct {
	files       []string
	out         string
	check, help bool
}

func parse(args []string) (o options, err error) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--check":
			o.check = true
		case a == "--help", a == "-h":
			o.help = true
			return o, nil
		case a == "--out":
			if i++; i == len(args) {
				return o, errors.New("--out needs a folder")
			}
			o.out = args[i]
		case strings.HasPrefix(a, "--out="):
			o.out = strings.TrimPrefix(a, "--out=")
		case strings.HasPrefix(a, "-") && a != "-":
			return o, fmt.Errorf("unknown option %s", a)
		default:
			o.files = append(o.files, a)
		}
	}
	switch {
	case len(o.files) == 0:
		return o, errors.New("no trace is given")
	case o.check && o.out != "":
		return o, errors.New("--check writes no answers, so there is nothing for --out")
	case len(o.files) > 1 && o.out == "" && !o.check:
		return o, errors.New("several traces need --out DIR or --check")
	}
	return o, o.collisions()
}

// collisions refuses traces whose answers would go to one file.
func (o *options) collisions() error {
	if o.out == "" {
		return nil
	}
	var names []string
	for _, f := range o.files {
		names = append(names, outName(f))
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return fmt.Errorf("two traces are called %s; their answers would go to one file", names[i])
		}
	}
	return nil
}

// outName is the name of the file for a trace's answers.
func outName(file string) string {
	if file == "-" {
		return "stdin.jsonl"
	}
	return strings.TrimSuffix(filepath.Base(file), ".gz")
}

// replay plays one file.
func (o *options) replay(name string, stdout io.Writer) error {
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if o.check {
		return guarded(name, func() error { return Check(in, name, stdout) })
	}
	if o.out == "" {
		return guarded(name, func() error { return Play(in, name, stdout) })
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(o.out, outName(name)))
	if err != nil {
		return err
	}
	return errors.Join(guarded(name, func() error { return Play(in, name, f) }), f.Close())
}

// guarded turns a failed assertion of the model into an error, so that the
// other traces are still played.
func guarded(name string, run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: the model failed: %v\n%s", name, r, debug.Stack())
		}
	}()
	return run()
}

// Play plays a trace and writes one line for each event. Lines before an error
// are written.
func Play(in io.Reader, name string, out io.Writer) (err error) {
	buffered := bufio.NewWriter(out)
	defer func() { err = errors.Join(err, buffered.Flush()) }()
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	return each(in, name, func(_ *World, e *trace.Common, saw trace.Saw) error {
		return lines.Encode(trace.Answer{N: e.N, Saw: saw})
	})
}

// each plays a trace and calls f after each event, with the cluster if it is not that
// of a plan.
func each(in io.Reader, name string, f func(*World, *trace.Common, trace.Saw) error) error {
	r, err := trace.NewReader(in, name)
	if err != nil {
		return err
	}
	var next func() (*World, *trace.Common, trace.Saw, error)
	if r.Plan() != nil {
		next, err = ofPlan(r)
	} else {
		next, err = ofCluster(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		w, e, saw, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(w, e, saw); err != nil {
			return err
		}
	}
}

// ofCluster plays the next event of a cluster.
func ofCluster(r *trace.Reader) (func() (*World, *trace.Common, trace.Saw, error), error) {
	w, err := New(r.Header())
	if err != nil {
		return nil, err
	}
	return func() (*World, *trace.Common, trace.Saw, error) {
		e, err := r.Next()
		if err != nil {
			return nil, nil, nil, err
		}
		saw, err := w.Apply(e)
		if err != nil {
			return nil, nil, nil, r.At(&e.Common, err)
		}
		return w, &e.Common, saw, nil
	}, nil
}

// ofPlan plays the next event of a plan.
func ofPlan(r *trace.Reader) (func() (*World, *trace.Common, trace.Saw, error), error) {
	w, err := plan.New(r.Plan())
	if err != nil {
		return nil, err
	}
	return func() (*World, *trace.Common, trace.Saw, error) {
		e, err := r.NextOfPlan()
		if err != nil {
			return nil, nil, nil, err
		}
		saw, err := w.Apply(e)
		if err != nil {
			return nil, nil, nil, r.At(&e.Common, err)
		}
		return nil, &e.Common, saw, nil
	}, nil
}
