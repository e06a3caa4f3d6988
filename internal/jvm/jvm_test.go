package jvm

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFeature(t *testing.T) {
	for version, want := range map[string]int{"17.0.12": 17, "21-ea": 21, "1.8.0_402": 8, "9": 9, "": 0, "x": 0, "99999999999999999999": 0} {
		if got := feature(version); got != want {
			t.Errorf("%q: got %d", version, got)
		}
	}
}

func FuzzFeature(f *testing.F) {
	f.Add("17.0.1")
	f.Fuzz(func(t *testing.T, version string) {
		if feature(version) < 0 {
			t.Fatalf("%q is negative", version)
		}
	})
}

func TestHome(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "jdk")
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/java": "#!/bin/sh\nexit 1\n", "release": "X=1\nJAVA_VERSION=\"21.0.2\"\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "bin", "java"), filepath.Join(dir, "java")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": "bin:" + dir}
	getenv := func(name string) string { return env[name] }
	if got := Home(getenv); got != home || Version(got) != 21 {
		t.Errorf("on the path: %s %d", got, Version(got))
	}
	if env["JAVA_HOME"] = "/no/java"; Home(getenv) != "/no/java" || Version("/no/java") != 0 {
		t.Error("JAVA_HOME comes first")
	}
	delete(env, "JAVA_HOME")
	if env["PATH"] = ""; Home(getenv) != "" {
		t.Error("a Java out of nowhere")
	}
}
