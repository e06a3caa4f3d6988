package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// logsOut is where log files are printed to: standard output, or a file for
// each container of each node below a directory. Names that would lead out of
// it are refused, since they come from what nodes and users wrote.
type logsOut struct {
	stdout io.Writer
	root   *os.Root // nil for standard output
	file   *os.File // the one at hand
	name   string
}

var errNoContainer = errors.New("a container without a proper id is not written")

func newLogsOut(c *call, dir string) (*logsOut, error) {
	o := &logsOut{stdout: c.Stdout}
	if dir == "" {
		return o, nil
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		o.root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("-out: %w", err)
	}
	return o, nil
}

// to is where a container's log files go.
func (o *logsOut) to(node, container string) (io.Writer, error) {
	if o.root == nil {
		return o.stdout, nil
	}
	if _, err := yarn.ParseContainerID(container); err != nil {
		return nil, fmt.Errorf("-out: %w: %w", errNoContainer, err)
	}
	node = strings.ReplaceAll(node, ":", "_")
	name := node + "/" + container
	if name == o.name {
		return o.file, nil
	}
	if err := o.closeFile(); err != nil {
		return nil, err
	}
	if err := o.root.MkdirAll(node, 0o755); err != nil {
		return nil, fmt.Errorf("-out: %w", err)
	}
	file, err := o.root.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-out: %w", err)
	}
	o.file, o.name = file, name
	return file, nil
}

func (o *logsOut) closeFile() error {
	if o.file == nil {
		return nil
	}
	file := o.file
	o.file, o.name = nil, ""
	return file.Close()
}

// Close may be called twice.
func (o *logsOut) Close() error {
	err := o.closeFile()
	if o.root != nil {
		o.root.Close()
		o.root = nil
	}
	return err
}
