package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBill(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "package-lock.json")
	text := `{"packages":{"":{"version":"0.0.0"},"node_modules/vite":{"version":"1.0.0","dev":true},
		"node_modules/b":{"version":"2.0.0","license":"MIT","integrity":"sha512-x"},"node_modules/b/node_modules/@s/a":{"version":"1.0.0"}}}`
	if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	packages, err := readLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "example.org/own"}, Deps: []*debug.Module{{Path: "example.org/lib", Version: "v1.2.3", Sum: "h1:x"},
		{Path: "example.org/old", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0"}}}}
	sum := strings.Repeat("0123456789abcdef", 4)
	d := bill(info, sum, "1.0.0", packages)
	var got []string
	for _, c := range d.Components {
		got = append(got, c.PURL)
	}
	want := "pkg:golang/std@1.26.0 pkg:golang/example.org/lib@v1.2.3 pkg:golang/example.org/new@v2.0.0 pkg:npm/%40s/a@1.0.0 pkg:npm/b@2.0.0"
	if strings.Join(got, " ") != want || strings.Join(d.Dependencies[0].On, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if d.Serial != "urn:uuid:01234567-89ab-8def-a123-456789abcdef" || d.Metadata.Component.PURL != "pkg:golang/example.org/own@1.0.0" {
		t.Errorf("%q %q", d.Serial, d.Metadata.Component.PURL)
	}
	if _, err := readLock(lock + "x"); err == nil {
		t.Error("a lock file that is not there was read")
	}
}
