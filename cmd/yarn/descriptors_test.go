package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A daemon's children have no descriptors but standard input, output and error.
func TestDescriptorsAreNotHandedOn(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listDescriptors+"=1")
	cmd.ExtraFiles = []*os.File{r, w}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); strings.Join(got, " ") != "before 3 4 after" {
		t.Errorf("children have the descriptors %q", got)
	}
}
