package webgate

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadSecret(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte("hadoop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSecret(file); err != nil || string(s) != "hadoop\n" {
		t.Errorf("%q, %v", s, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(file); err == nil {
		t.Error("an empty secret was taken")
	}
	if _, err := ReadSecret(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing file was taken")
	}
}
