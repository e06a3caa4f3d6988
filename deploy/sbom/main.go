// Command sbom writes the bill of materials of a built yarn: the Go modules that the binary says are in it, and the packages that the bundle of the web
// interface is made of, as CycloneDX 1.6 in JSON. The same input gives the same bytes. It also copies the licenses of the modules.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	binary := flag.String("binary", "bin/yarn", "the program")
	lock := flag.String("lock", "ui/app/package-lock.json", "what the web interface is built of")
	licenses := flag.String("licenses", "", "copy the licenses of the Go modules below this directory")
	flag.Parse()
	if err := run(os.Stdout, *binary, *lock, *licenses); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(w io.Writer, binary, lock, licenses string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("what %s was built of: %w", binary, err)
	}
	raw, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	packages, err := readLock(lock)
	if err != nil {
		return fmt.Errorf("what the web interface is built of: %w", err)
	}
	sum := sha256.Sum256(raw)
	b := bill(info, hex.EncodeToString(sum[:]), os.Getenv("VERSION"), packages)
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		b.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	if licenses != "" {
		if err := copyLicenses(info, licenses); err != nil {
			return err
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

// document is a CycloneDX bill of materials, as far as it is used here.
type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// bill makes the document. Its serial number follows from the sum of the program.
func bill(info *debug.BuildInfo, sum, version string, packages []component) document {
	if version == "" {
		version = info.Main.Version
	}
	own := component{Type: "application", Name: "heddle", Version: version, PURL: "pkg:golang/" + info.Main.Path + "@" + version,
		Hashes: []hash{{"SHA-256", sum}}, Licenses: []license{{"Apache-2.0"}}}
	own.Ref = own.PURL
	d := document{Format: "CycloneDX", Spec: "1.6", Serial: "urn:uuid:" + uuid(sum), Version: 1, Metadata: metadata{Component: own}}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	d.Components = append(d.Components, component{Type: "library", Name: "std", Version: goVersion, PURL: "pkg:golang/std@" + goVersion, Licenses: []license{{"BSD-3-Clause"}}})
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
			Properties: []property{{"go.sum", m.Sum}}})
	}
	d.Components = append(d.Components, packages...)
	var on []string
	for i := range d.Components {
		d.Components[i].Ref = d.Components[i].PURL
		on = append(on, d.Components[i].PURL)
	}
	d.Dependencies = []dependency{{own.Ref, on}}
	return d
}

// uuid shapes the beginning of a hexadecimal sum as a UUID of version 8, which may be made of anything.
func uuid(sum string) string {
	return fmt.Sprintf("%s-%s-8%s-a%s-%s", sum[:8], sum[8:12], sum[13:16], sum[17:20], sum[20:32])
}

// readLock lists the packages of a package-lock.json that are not for development alone.
func readLock(path string) ([]component, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, DevOptional            bool
		} `json:"packages"`
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []component
	for at, p := range lock.Packages {
		_, name, ok := cutLast(at, "node_modules/")
		if !ok || p.Dev || p.DevOptional {
			continue
		}
		c := component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version,
			Properties: []property{{"integrity", p.Integrity}}}
		if p.License != "" {
			c.Licenses = []license{{p.License}}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	return slices.CompactFunc(out, func(a, b component) bool { return a.PURL == b.PURL }), nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// copyLicenses takes the licenses of the modules out of the module cache, and Go's own.
func copyLicenses(info *debug.BuildInfo, to string) error {
	root, err := goSays("env", "GOROOT")
	if err != nil {
		return err
	}
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, m := range info.Deps {
		args = append(args, m.Path)
	}
	list, err := goSays(args...)
	if err != nil {
		return err
	}
	from := map[string]string{"go": root}
	for line := range strings.Lines(list) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		from[name] = dir
	}
	for name, dir := range from {
		found, err := filepath.Glob(filepath.Join(dir, "[LNC][IOo]*"))
		if err != nil {
			return err
		}
		copied := 0
		for _, path := range found {
			base := strings.ToUpper(filepath.Base(path))
			if !strings.HasPrefix(base, "LICEN") && !strings.HasPrefix(base, "NOTICE") && !strings.HasPrefix(base, "COPYING") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			into := filepath.Join(to, filepath.FromSlash(name))
			if err := os.MkdirAll(into, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(into, filepath.Base(path)), text, 0o644); err != nil { //nolint:gosec // for everybody to read
				return err
			}
			copied++
		}
		if copied == 0 {
			return fmt.Errorf("%s has no license in %s", name, dir)
		}
	}
	return nil
}

// goSays runs the go command.
func goSays(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output() //nolint:gosec // with module paths of our own binary
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
