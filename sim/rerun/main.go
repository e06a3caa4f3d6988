package rerun

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/progress"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
)

const usage = `Usage: yarn sim rerun [-check] [-list] FILE
Plays a recording of a ResourceManager's black box again, and says whether it comes to the same state, or to the same panic.
  -check   recount all books after every command, and stop where they are wrong; slow
  -list    print the commands as well; those of a recording without its beginning, which cannot be played, too
FILE is what a crash, yarn debug record or yarn.resourcemanager.heddle.black-box.record left; - is standard input. Only the commit that
recorded is sure to decide the same; one whose commands have other fields refuses the file.
Exits with 0 when it went as recorded, to an end without a panic; with 3 when it went as recorded, to the same panic; with 1 when it went
otherwise, or -check found something; with 2 for a file that cannot be played, or a wrong command line.
`

// The exit codes.
const (
	codeSame  = 0
	codeOther = 1
	codeUsage = 2
	codePanic = 3
)

// Main is the command "sim rerun" without these two words. It returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	var o Options
	var files []string
	showing := false
	for _, a := range args {
		switch a {
		case "-help", "--help", "-h":
			fmt.Fprint(stdout, usage)
			return codeSame
		case "-check", "--check":
			o.Check = true
		case "-list", "--list":
			showing = true
		default:
			if strings.HasPrefix(a, "-") && a != "-" {
				fmt.Fprintf(stderr, "sim rerun: unknown option %s\n%s", a, usage)
				return codeUsage
			}
			files = append(files, a)
		}
	}
	if len(files) != 1 {
		fmt.Fprintf(stderr, "sim rerun: give one file\n%s", usage)
		return codeUsage
	}
	out := bufio.NewWriter(stdout)
	defer out.Flush() //nolint:errcheck // nobody is there to be told
	meter := progress.New(stderr, time.Now, "playing", progress.Bytes)
	if showing { // the list shows the progress
		o.List, meter = out, nil
	}
	res, err := playFile(files[0], o, meter)
	var missing errMissing
	if errors.As(err, &missing) && showing {
		err = errors.Join(listFile(files[0], out), err)
	}
	if err != nil {
		_ = out.Flush()
		fmt.Fprintf(stderr, "sim rerun: %s\n", visible.Text(err.Error()))
		return codeUsage
	}
	return report(out, res)
}

// open opens a recording.
func open(name string, meter *progress.Meter) (*blackbox.Reader, io.Closer, error) {
	if name == "-" {
		r, err := blackbox.NewReader(os.Stdin, "standard input")
		return r, io.NopCloser(nil), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		meter.Total(info.Size())
	}
	r, err := blackbox.NewReader(meter.Reader(f), name)
	if err != nil {
		f.Close()
	}
	return r, f, err
}

func playFile(name string, o Options, meter *progress.Meter) (*Result, error) {
	defer meter.End()
	r, f, err := open(name, meter)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Play(r, o)
}

// listFile prints what cannot be played.
func listFile(name string, out io.Writer) error {
	if name == "-" {
		return errors.New("standard input cannot be read twice: give a file")
	}
	r, f, err := open(name, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		list(out, x)
	}
}

// report says what playing came to, and returns the exit code.
func report(out io.Writer, r *Result) int {
	c := &r.Counts
	took := time.Duration(c.Last.Mono-c.First.Mono) * time.Millisecond
	fmt.Fprintf(out, "recorded by commit %s\n", visible.Text(r.Build))
	if own := release.Own().Commit; own != r.Build {
		fmt.Fprintf(out, "played by commit %s, which may decide otherwise\n", own)
	}
	fmt.Fprintf(out, "%d commands in %v: %d answers (%d refusals), %d records, %d containers granted, %d ended, %d masters launched\n",
		c.Commands, took, c.Replies, c.Refusals, c.Saves, c.Granted, c.Ends, c.Launches)
	if r.Looked {
		fmt.Fprintf(out, "state %s\n", digest(r.State, true))
	}
	switch end := r.End; {
	case end == nil:
		fmt.Fprintln(out, "the recording was cut off here: how it ended is not known")
	case end.Truncated != "":
		fmt.Fprintf(out, "the recording was ended here (%s), and its ResourceManager went on\n", visible.Text(end.Truncated))
	}
	if r.Panic != "" {
		fmt.Fprintf(out, "panic: %s\n\n%s\n", visible.Text(r.Panic), r.Stack)
	}
	switch {
	case r.Wrong != "":
		fmt.Fprintf(out, "WRONG: %s\n", visible.Text(r.Wrong))
		return codeOther
	case r.Differs != "":
		fmt.Fprintf(out, "DIFFERENT: %s\n", visible.Text(r.Differs))
		return codeOther
	case r.Panic != "" && r.End == nil:
		fmt.Fprintln(out, "DIFFERENT: a panic where the recording was cut off")
		return codeOther
	case r.Panic != "":
		fmt.Fprintf(out, "the same panic as recorded, by command %d\n", c.Commands-1)
		return codePanic
	}
	fmt.Fprintln(out, "as recorded")
	return codeSame
}
