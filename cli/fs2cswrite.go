package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fair/convert"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/scheduler/placement"
)

// outFile is one file that comes of a conversion.
type outFile struct {
	name string
	data []byte
}

// files are the files of a result, in the order in which they are printed.
func (v *conversion) files(r *convert.Result) []outFile {
	var out []outFile
	if v.opts.has("e") && r.MappingRules != "" {
		out = append(out, outFile{mappingFileName, []byte(r.MappingRules + "\n")})
	}
	return append(out, outFile{queueFileName, configurationXML(over(v.input.queues, r.Queues))}, outFile{siteFile, configurationXML(r.Site)})
}

// over puts properties over those of a file.
func over(under []conf.Value, above []config.Property) []config.Property {
	out := slices.Clone(above)
	for _, v := range under {
		if !slices.ContainsFunc(above, func(p config.Property) bool { return p.Name == v.Name }) {
			out = append(out, config.Property{Name: v.Name, Value: v.Raw})
		}
	}
	slices.SortStableFunc(out, func(a, b config.Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")

// configurationXML writes a file as Hadoop reads it.
func configurationXML(properties []config.Property) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n")
	for _, p := range properties {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", xmlText.Replace(p.Name), xmlText.Replace(p.Value))
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

// write prints the files, or writes them into the output directory, where none is replaced.
func (v *conversion) write(files []outFile) error {
	if v.opts.has("p") {
		for _, f := range files {
			if _, err := fmt.Fprintf(v.Stdout, "======= %s =======\n%s", f.name, f.data); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range files {
		path := filepath.Join(v.opts.first("o"), f.name)
		if err := writeNew(path, f.data); err != nil {
			return err
		}
		fmt.Fprintln(v.Stdout, path+" written")
		if f.name == mappingFileName {
			fmt.Fprintf(v.Stderr, "WARN nothing names %s yet: these rules apply once %s does, in %s\n", path, placement.PropJSONFile, queueFileName)
		}
	}
	return nil
}

func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// verify checks whether a ResourceManager starts with the files. What would keep it from that is an error where files are
// written, else a warning.
func (v *conversion) verify(files []outFile) error {
	written := v.opts.has("o")
	if written && v.opts.has("p") {
		return fmt.Errorf("verification failed: with -p no files are written into %s that could be verified: leave out -o, or verification with -s", v.opts.first("o"))
	}
	findings, err := v.check(files)
	if err != nil {
		return err
	}
	refused := slices.DeleteFunc(findings, func(f lint.Finding) bool { return f.Severity != lint.Error })
	level := map[bool]string{true: "ERROR", false: "WARN"}[written]
	for _, f := range refused {
		fmt.Fprintf(v.Stderr, "%s %s\n", level, f)
	}
	if len(refused) > 0 && written {
		return fmt.Errorf("verification failed: a ResourceManager does not start with these files. They stay in %s to be corrected; yarn queue -lint %s checks them again",
			v.opts.first("o"), v.opts.first("o"))
	}
	return nil
}

// check lints the files as if they were alone in the output directory.
func (v *conversion) check(files []outFile) ([]lint.Finding, error) {
	dir := v.opts.first("o")
	read := func(path string) ([]byte, error) {
		for _, f := range files {
			if path == filepath.Join(dir, f.name) {
				return f.data, nil
			}
		}
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	options := conf.Options{Dir: dir, Read: read, Env: v.LookupEnv, System: v.systemProperties()}
	site, err := conf.Load(options)
	if err != nil {
		return nil, err
	}
	options.Base, options.Files = site, []string{queueFileName}
	all, err := conf.Load(options)
	if err != nil {
		return nil, err
	}
	confDir, _ := v.confDir()
	types, err := lintTypes(confDir, site)
	if err != nil {
		return nil, err
	}
	cluster, err := setup.Cluster(site, types, nil)
	if err != nil {
		return nil, err
	}
	in := setup.Lint(filepath.Join(dir, queueFileName), all, cluster)
	in.Properties = slices.DeleteFunc(in.Properties, func(p config.Property) bool { return slices.Contains(convert.Delays(), p.Name) }) // there is a warning of those
	findings := lint.Check(in)
	if _, _, err := config.Parse(in.Properties, in.Cluster); err != nil && len(findings) > lint.MaxFindings { // and so it may not be among them
		findings = append(findings, lint.Finding{Severity: lint.Error, Code: lint.Refused, Origin: in.File, What: err.Error()})
	}
	return findings, nil
}
