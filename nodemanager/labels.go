package nodemanager

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/command"
)

// maxLabelOutput bounds what the script that names the label may print, in bytes.
const maxLabelOutput = 1 << 20

// labelSource determines the node's label at intervals.
type labelSource struct {
	d    *Daemon
	name atomic.Pointer[string]
}

// prepareLabel finds out the node's label for the first time, before it
// registers, and keeps it up to date until ctx ends. Nil: the node names none.
func (d *Daemon) prepareLabel(ctx context.Context) (func() string, error) {
	l := &d.settings.Label
	if l.Provider == "" {
		return nil, nil
	}
	if l.Provider == "script" {
		if info, err := os.Stat(l.Script); err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return nil, fmt.Errorf("the script of the node's label (yarn.nodemanager.node-labels.provider.script.path), %q, is not a file that may be executed", l.Script)
		}
	}
	s := &labelSource{d: d}
	s.name.Store(new(string))
	s.find(ctx)
	if l.Every > 0 {
		d.work.Go(func() { s.run(ctx) })
	}
	return func() string { return *s.name.Load() }, nil
}

func (s *labelSource) run(ctx context.Context) {
	ticker := time.NewTicker(s.d.settings.Label.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.find(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// find runs the source. If that fails the node keeps its label.
func (s *labelSource) find(ctx context.Context) {
	label, err := s.ask(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.d.Log.Warn("cannot find out the node's label; it keeps the one that it had", "label", *s.name.Load(), "error", err)
		}
		return
	}
	s.name.Store(&label)
}

func (s *labelSource) ask(ctx context.Context) (string, error) {
	l := &s.d.settings.Label
	if l.Provider == "script" {
		out, err := command.Run(ctx, l.Timeout, maxLabelOutput, l.Script, l.Args...)
		return printedLabel(out), err
	}
	site, err := s.d.Load() // the files may have changed
	if err != nil {
		return "", err
	}
	now, err := conf.ReadNodeManager(site)
	if err != nil {
		return "", err
	}
	return now.Label.Configured, nil
}

// printedLabel is what follows NODE_PARTITION: on the last line that begins so.
func printedLabel(out []byte) (label string) {
	for line := range bytes.Lines(out) {
		if after, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("NODE_PARTITION:")); ok {
			label = strings.TrimSpace(string(after))
		}
	}
	return label
}
