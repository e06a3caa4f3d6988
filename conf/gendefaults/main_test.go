package main

import (
	"os"
	"testing"
)

// TestCommittedTable keeps the embedded table and its source in step.
func TestCommittedTable(t *testing.T) {
	in, err := os.ReadFile("hadoop-3.5.0.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Table(string(in))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../defaults.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("defaults.tsv is stale: run go generate ./conf")
	}
}

func TestTableRefusesShortLines(t *testing.T) {
	if _, err := Table("core-default.xml\tonly.two"); err == nil {
		t.Error("a line with two columns was accepted")
	}
}
