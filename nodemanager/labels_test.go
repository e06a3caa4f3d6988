package nodemanager

import (
	"os"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// told is the label that the ResourceManager was told last.
func (m *manager) told() (label string) {
	m.with(func() { label = m.label })
	return label
}

// noteLabel keeps what a message says of the node's label.
func (m *manager) noteLabel(l *pb.NodeLabels) {
	if l == nil {
		return
	}
	m.label = "none"
	for _, x := range l.NodeLabels {
		m.label = x.GetName()
	}
}

const labels = "yarn.nodemanager.node-labels."

// The label follows the configuration's files.
func TestConfiguredLabel(t *testing.T) {
	w := quietWorld(t, labels+"provider", "Config", labels+"provider.fetch-interval-ms", "20")
	site := func(label string) {
		text := "<configuration><property><name>" + labels + "provider.configured-node-partition</name><value>" + label + "</value></property></configuration>"
		if err := os.MkdirAll(w.path("tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.path("tmp", "fresh"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.path("tmp", "fresh"), w.path("tmp", "yarn-site.xml")); err != nil {
			t.Fatal(err)
		}
	}
	site("gpu")
	w.start()
	await(t, "the label of the start", func() bool { return w.rm.told() == "gpu" })
	site("ssd")
	await(t, "the new label", func() bool { return w.rm.told() == "ssd" })
	site("")
	await(t, "no label", func() bool { return w.rm.told() == "none" })
}

// The label follows what the script prints; one that fails changes nothing.
func TestPrintedLabel(t *testing.T) {
	w := quietWorld(t, labels+"provider", "script", labels+"provider.fetch-interval-ms", "20", labels+"provider.script.opts", "NODE_PARTITION:,x")
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(w.path("fresh"), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.path("fresh"), w.path("label")); err != nil {
			t.Fatal(err)
		}
	}
	w.site[labels+"provider.script.path"] = w.path("label")
	script(`echo NODE_PARTITION:old; echo " $1gpu"; echo other`)
	w.start()
	await(t, "the label of the start", func() bool { return w.rm.told() == "gpu" })
	script(`echo NODE_PARTITION:broken; echo why >&2; exit 3`)
	await(t, "a complaint", func() bool { return strings.Contains(w.said(), "why") })
	script(`echo nothing`)
	await(t, "no label", func() bool { return w.rm.told() == "none" })
	if strings.Contains(w.said(), "label=broken") {
		t.Error("the label of a script that failed was taken")
	}
}

func TestLabelScriptMissing(t *testing.T) {
	w := quietWorld(t, labels+"provider", "script", labels+"provider.script.path", "/nonexistent/label")
	if d, err := Start(options(w.site, w.log)); err == nil || !strings.Contains(err.Error(), "/nonexistent/label") {
		t.Errorf("a node without its script: %v", err)
		if d != nil {
			d.Stop()
		}
	}
}
