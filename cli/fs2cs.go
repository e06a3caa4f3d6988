package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/fair/convert"
	"github.com/heddle-project/heddle/yarn"
)

// fs2csOptions are those of Apache's command.
var fs2csOptions = []option{
	{name: "y", long: "yarnsiteconfig", arg: "file", values: 1, help: "The yarn-site.xml to convert. It must be given."},
	{name: "f", long: "fsconfig", arg: "file", values: 1, help: "The fair-scheduler.xml to convert; else the one that yarn.scheduler.fair.allocation.file names."},
	{name: "o", long: "output-directory", arg: "directory", values: 1, help: "Where to write yarn-site.xml and capacity-scheduler.xml. It must exist and have neither."},
	{name: "p", long: "print", help: "Prints the files and writes none."},
	{name: "r", long: "rulesconfig", arg: "file", values: 1, help: "Conversion rules: what ends the conversion, in place of a warning."},
	{name: "c", long: "cluster-resource", arg: "resource", values: 1, help: "Accepted; nothing depends on it."},
	{name: "d", long: "dry-run", help: "Lists warnings and errors at the end, and goes on where a conversion rule ends the conversion. Files are written all the same."},
	{name: "t", long: "no-terminal-rule-check", help: "Accepts placement rules behind one that always decides."},
	{name: "s", long: "skip-verification", help: "Does not check whether a ResourceManager would start with the result."},
	{name: "sp", long: "skip-convert-placement-rules", help: "Converts no placement rules."},
	{name: "a", long: "enable-async-scheduler", help: "Turns asynchronous scheduling on."},
	{name: "e", long: "rules-to-file", help: "Writes the mapping rules into mapping-rules.json, which a property must then name."},
	{name: "pc", long: "percentage", help: "Capacities become percentages, not weights. Parents then create no queues."},
	{name: "dp", long: "disable-preemption", arg: "mode", values: 1, help: "observeonly: preemption observes only. nopolicy: changes nothing."},
	{name: "h", long: "help", help: "Prints this text."},
}

// The files that yarn fs2cs writes, beside siteFile and queueFileName.
const mappingFileName = "mapping-rules.json"

// fs2cs is yarn fs2cs: it makes a CapacityScheduler's configuration of a FairScheduler's. It asks no ResourceManager.
func fs2cs(c *call) error {
	opts, err := parse(fs2csOptions, detached(c.args))
	if err != nil {
		text := err.Error()
		var java javaError
		if errors.As(err, &java) {
			text = java.message
		}
		fmt.Fprintln(c.Stderr, "ERROR Options parsing failed: "+text)
		return c.misused()
	}
	if len(c.args) == 0 || opts.has("h") {
		c.usage()
		return nil
	}
	v := &conversion{call: c, opts: opts}
	err = v.run()
	var exit Exit
	if err == nil || errors.As(err, &exit) {
		return err
	}
	fmt.Fprintf(c.Stderr, "ERROR %v\n", err)
	return failed
}

// detached splits -yFILE into two words, as Hadoop's tools do.
func detached(words []string) []string {
	var out []string
	for _, w := range words {
		if len(w) > 2 && w[0] == '-' && w[1] != '-' && w[2] != '=' && find(fs2csOptions, w) == nil {
			if name, _, ok := strings.Cut(w, "="); !ok || find(fs2csOptions, name) == nil {
				if o := find(fs2csOptions, w[:2]); o != nil && o.values > 0 {
					out = append(out, w[:2], w[2:])
					continue
				}
			}
		}
		out = append(out, w)
	}
	return out
}

// conversion is one run of yarn fs2cs.
type conversion struct {
	*call
	opts *parsed

	site     *conf.Properties // yarn-site.xml over the configuration directory's files
	fairFile string
	input    struct {
		allocations *allocation.Allocation
		settings    convert.Settings
		options     convert.Options
		queues      []conf.Value // of a capacity-scheduler.xml that is already in force
	}
	findings []convert.Finding
}

func (v *conversion) run() error {
	if err := v.precondition(); err != nil {
		return err
	}
	if err := v.read(); err != nil {
		return err
	}
	out, findings, err := convert.Convert(v.input.allocations, v.input.settings, v.input.options)
	v.findings = append(v.findings, findings...)
	dry := v.opts.has("d")
	if !dry {
		v.report()
	}
	if err != nil {
		return v.at(err)
	}
	if !dry && slices.ContainsFunc(v.findings, aborts) {
		return fmt.Errorf("nothing is converted, as %s says", v.opts.first("r"))
	}
	files := v.files(out)
	err = v.write(files)
	if err == nil && !v.opts.has("s") {
		err = v.verify(files)
	}
	if dry {
		v.dryRun(err == nil)
	}
	return err
}

// at puts the line of the allocation file before an error.
func (v *conversion) at(err error) error {
	var e *convert.Error
	if errors.As(err, &e) && e.Line > 0 {
		return fmt.Errorf("%s:%d: %w", v.fairFile, e.Line, err)
	}
	return err
}

// precondition checks the command line and the output directory.
func (v *conversion) precondition() error {
	const refused = "Cannot start FS config conversion due to the following precondition error: "
	given := func(name string) (string, bool) { return v.opts.first(name), v.opts.has(name) }
	out, toFiles := given("o")
	toScreen := v.opts.has("p")
	switch {
	case !v.opts.has("y"):
		return errors.New(refused + "Missing yarn-site.xml parameter (switch: y|yarnsiteconfig).")
	case !toFiles && !toScreen && !v.opts.has("d"):
		return errors.New(refused + "Output directory or console mode was not defined. Please use -h or --help to see command line switches")
	}
	for _, in := range []struct{ option, what string }{{"y", "yarn-site.xml"}, {"f", "fair-scheduler.xml"}, {"r", "conversion rules config file"}} {
		path, set := given(in.option)
		if !set {
			continue
		}
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%sSpecified path %s does not exist (As value of parameter %s)", refused, path, in.what)
		case err != nil:
			return err
		case info.IsDir():
			return fmt.Errorf("%sSpecified path %s is a directory but should be  a file (As value of parameter %s)", refused, path, in.what)
		}
	}
	if toFiles {
		if err := v.outputDirectory(refused, out); err != nil {
			return err
		}
	}
	if mode, set := given("dp"); set && mode != "nopolicy" && mode != "observeonly" {
		return errors.New(refused + "Specified disable-preemption mode is illegal,  use nopolicy or observeonly.")
	}
	if size, set := given("c"); set {
		if _, err := allocation.ParseAmount(size, yarn.BasicResourceTypes()); err != nil {
			return fmt.Errorf("Error while parsing resource. -c %q: %w", size, err) //nolint:staticcheck // Hadoop's words
		}
	}
	if !toFiles && !toScreen {
		return errors.New(refused + "Output directory configuration is not defined but it is mandatory!")
	}
	return nil
}

// outputDirectory wants a directory without the files that are to be written.
func (v *conversion) outputDirectory(refused, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%sSpecified path %s is not a directory (As value of parameter output directory)", refused, dir)
	}
	site := v.opts.first("y")
	if sameFile(filepath.Dir(site), dir) {
		return fmt.Errorf("The output directory (provided with o|output-directory arguments) contains the %s provided with the y|yarnsiteconfig options.", //nolint:staticcheck // Hadoop's words
			filepath.Base(site))
	}
	names := []string{siteFile, queueFileName}
	if v.opts.has("e") && !v.opts.has("p") {
		names = append(names, mappingFileName)
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("The output directory %s (provided with o|output-directory arguments) already contains a file or directory named %s.", dir, name) //nolint:staticcheck // Hadoop's words
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func aborts(f convert.Finding) bool { return f.Severity == convert.Abort }

// maxPlaces is how many places one text names.
const maxPlaces = 5

// grouped are the texts of findings of a severity, each once, in their order, with the places that it is about.
func (v *conversion) grouped(s convert.Severity) (texts []string, places map[string]string) {
	all := map[string][]string{}
	for _, f := range v.findings {
		if f.Severity != s {
			continue
		}
		if _, known := all[f.Text]; !known {
			texts = append(texts, f.Text)
		}
		all[f.Text] = append(all[f.Text], v.place(f)...)
	}
	places = map[string]string{}
	for text, list := range all {
		if more := len(list) - maxPlaces; more > 0 {
			list = append(list[:maxPlaces:maxPlaces], fmt.Sprintf("and %d more", more))
		}
		if len(list) > 0 {
			places[text] = " (" + strings.Join(list, ", ") + ")"
		}
	}
	return texts, places
}

func (v *conversion) place(f convert.Finding) []string {
	at := f.Queue
	if f.Line > 0 {
		at = strings.TrimSpace(fmt.Sprintf("%s line %d", at, f.Line))
	}
	if at == "" {
		return nil
	}
	return []string{at}
}

// report prints the findings as they are.
func (v *conversion) report() {
	for _, s := range []struct {
		severity convert.Severity
		before   string
	}{{convert.Warning, "WARN "}, {convert.Abort, "ERROR Unsupported property/setting encountered during FS config conversion: "}} {
		texts, places := v.grouped(s.severity)
		for _, text := range texts {
			fmt.Fprintln(v.Stderr, s.before+text+places[text])
		}
	}
}

// dryRun prints what the findings come to.
func (v *conversion) dryRun(passed bool) {
	bad, badAt := v.grouped(convert.Abort)
	warned, warnedAt := v.grouped(convert.Warning)
	var b strings.Builder
	fmt.Fprintf(&b, "Results of dry run:\nNumber of errors: %d\nNumber of warnings: %d\nVerification result: %s\n", len(bad), len(warned),
		map[bool]string{true: "PASSED", false: "FAILED"}[passed])
	for _, list := range []struct {
		title  string
		texts  []string
		places map[string]string
	}{{"List of errors:", bad, badAt}, {"List of warnings:", warned, warnedAt}} {
		if len(list.texts) > 0 {
			fmt.Fprintln(&b, list.title)
		}
		for _, text := range list.texts {
			fmt.Fprintln(&b, text+list.places[text])
		}
	}
	fmt.Fprint(v.Stderr, b.String())
}
