package compare

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/sim/replay"
	"github.com/heddle-project/heddle/sim/rerun"
)

const usage = `Usage: yarn sim compare TRACE... --scheduler A [--scheduler B] [--site FILE]... [--output json] [--all]
Plays the work of recorded clusters under two configurations, and tells which applications would have started and ended earlier or later.
  TRACE            a recording of a ResourceManager's black box, or a scenario (.jsonl, .jsonl.gz); - is standard input
  --scheduler X    a capacity-scheduler.xml, an allocation file of the FairScheduler (the root element tells which), "fifo", or "recorded", which
                   is the configuration of the recording. With one --scheduler that one is B and "recorded" is A
  --site FILE      a yarn-site.xml: once for both configurations, or once for each in their order. Without it the recorded settings count
  --output json    one JSON value instead of tables; times are milliseconds, -1 is never
  --all            list applications that do not differ, too
Exits with 0 when no application differs, with 1 when some do, with 2 for a wrong command line, or when something cannot be read or played.
`

// The exit codes.
const (
	codeSame    = 0
	codeDiffers = 1
	codeUsage   = 2
)

// Main is the command "sim compare" without these two words. It returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "sim compare: %v\n%s", err, usage)
		return codeUsage
	}
	if o.help {
		fmt.Fprint(stdout, usage)
		return codeSame
	}
	out := bufio.NewWriter(stdout)
	reports, err := o.compare(out)
	if o.json {
		err = errors.Join(err, writeJSON(out, reports))
	}
	err = errors.Join(err, out.Flush())
	if err != nil {
		fmt.Fprintf(stderr, "sim compare: %s\n", visible.Text(err.Error()))
		return codeUsage
	}
	for _, r := range reports {
		if r.Equal < len(r.Apps) {
			return codeDiffers
		}
	}
	return codeSame
}

type options struct {
	files, schedulers, sites []string
	json, all, help          bool
}

func parse(args []string) (o options, err error) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		take := func() string {
			if given {
				return value
			}
			if i++; i == len(args) {
				err = fmt.Errorf("%s needs a value", name)
				return ""
			}
			return args[i]
		}
		switch {
		case name == "--scheduler":
			o.schedulers = append(o.schedulers, take())
		case name == "--site":
			o.sites = append(o.sites, take())
		case name == "--output":
			if word := take(); err == nil && word != "json" {
				err = fmt.Errorf("--output %s: only json is known", word)
			}
			o.json = true
		case args[i] == "--all":
			o.all = true
		case args[i] == "--help", args[i] == "-help", args[i] == "-h":
			o.help = true
			return o, nil
		case strings.HasPrefix(args[i], "-") && args[i] != "-":
			err = fmt.Errorf("unknown option %s", args[i])
		default:
			o.files = append(o.files, args[i])
		}
		if err != nil {
			return o, err
		}
	}
	if len(o.schedulers) == 1 {
		o.schedulers = []string{Recorded, o.schedulers[0]}
		if len(o.sites) == 1 {
			o.sites = []string{"", o.sites[0]}
		}
	}
	switch {
	case len(o.files) == 0:
		return o, errors.New("no trace and no recording is given")
	case len(o.schedulers) != 2:
		return o, errors.New("give one or two configurations with --scheduler")
	case len(o.sites) > 2:
		return o, errors.New("give --site once for both configurations, or once for each")
	case len(o.sites) == 1:
		o.sites = append(o.sites, o.sites[0])
		for i, s := range o.schedulers {
			if s == Recorded {
				o.sites[i] = ""
			}
		}
	case len(o.sites) == 0:
		o.sites = []string{"", ""}
	}
	return o, nil
}

// compare compares every file, and prints the tables.
func (o *options) compare(out io.Writer) (reports []*Report, err error) {
	var sides [2]*Side
	for i := range sides {
		if sides[i], err = ReadSide(o.schedulers[i], o.sites[i]); err != nil {
			return nil, err
		}
	}
	var total tally
	for i, name := range o.files {
		r, err := compareFile(name, sides)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		total.add(r.tally())
		if o.json {
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		r.print(out, o.all)
	}
	if len(o.files) > 1 && !o.json {
		fmt.Fprintf(out, "\nall %d files: %s\n", len(o.files), total)
	}
	return reports, nil
}

// compareFile compares what is in one file. A failed assertion of the model is an error.
func compareFile(name string, sides [2]*Side) (r *Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s: the model failed: %v\n%s", name, cause, debug.Stack())
		}
	}()
	w, err := ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out [2]*Outcome
	for i, s := range sides {
		if out[i], err = Play(w, s); err != nil {
			return nil, fmt.Errorf("%s for %s: %w", s.Name, name, err)
		}
	}
	return Compare(w, out[0], out[1]), nil
}

// ReadFile makes a workload of a trace or of a recording; - is standard input.
func ReadFile(name string) (*Workload, error) {
	if name == "-" {
		return Read(os.Stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// Read makes a workload of a trace or of a recording; name is for errors.
func Read(in io.Reader, name string) (*Workload, error) {
	x := newExtractor(name)
	buffered := bufio.NewReader(in)
	first, _ := buffered.Peek(len(blackbox.Magic))
	if !bytes.Equal(first, []byte(blackbox.Magic)) {
		x.work.Trace = true
		if err := replay.Watch(buffered, name, x); err != nil {
			return nil, err
		}
		return x.finish()
	}
	r, err := blackbox.NewReader(buffered, name)
	if err != nil {
		return nil, err
	}
	x.Begin(r.Header)
	played, err := rerun.Play(r, rerun.Options{Watch: x.Command})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if played.Differs != "" {
		x.work.Notes = append(x.work.Notes, "this program decides otherwise than the one that recorded: "+played.Differs+"; what follows there is not read")
	}
	if played.Panic != "" {
		x.work.Notes = append(x.work.Notes, "the recording ends with a panic: "+played.Panic)
	}
	return x.finish()
}

// add adds the counts of another comparison.
func (t *tally) add(o tally) {
	t.all += o.all
	t.differ += o.differ
	t.earlier += o.earlier
	t.later += o.later
	t.onlyA += o.onlyA
	t.onlyB += o.onlyB
	t.refusedA += o.refusedA
	t.refusedB += o.refusedB
}
