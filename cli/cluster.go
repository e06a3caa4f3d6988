package cli

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
)

var clusterOptions = []option{
	{name: "lnl", long: "list-node-labels", help: "Lists the node labels of the cluster."},
	{name: "lna", long: "list-node-attributes", help: "Lists the attributes that nodes of the cluster have."},
	{name: "dnl", long: "directly-access-node-label-store", help: "Reads the label store without the ResourceManager.",
		absent: ": reading the label store without the ResourceManager is deprecated in Hadoop and not built here; leave it out to ask the ResourceManager"},
	{name: "h", long: "help", help: "Prints this text."},
}

// cluster is yarn cluster. Its usage is followed by an empty line.
func cluster(c *call) error {
	switch {
	case c.opts.has("lnl"):
		return clusterLabels(c)
	case c.opts.has("lna"):
		return clusterAttributes(c)
	case c.opts.has("h"):
		c.usage()
		fmt.Fprintln(c.Stdout)
		return nil
	}
	err := c.invalid(0)
	fmt.Fprintln(c.Stdout)
	return err
}

// clusterLabels prints all labels on one line.
func clusterLabels(c *call) error {
	rm, err := c.client()
	if err != nil {
		return err
	}
	labels, err := rm.ClusterLabels(c.ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("nodeLabels", document{{"nodeLabels", items(labels, func(l client.NodeLabel) document {
			return document{{"name", l.Name}, {"exclusive", l.Exclusive}}
		})}})
	}
	var texts []string
	for _, l := range labels {
		texts = append(texts, l.String())
	}
	fmt.Fprintf(c.Stdout, "Node Labels: %s\n", visible.Line(strings.Join(texts, ",")))
	return nil
}

// clusterAttributes prints one attribute a line, then an empty one.
func clusterAttributes(c *call) error {
	rm, err := c.client()
	if err != nil {
		return err
	}
	attributes, err := rm.ClusterAttributes(c.ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("nodeAttributes", document{{"nodeAttributes", items(attributes, func(a client.AttributeType) document {
			return document{{"prefix", a.Prefix}, {"name", a.Name}, {"type", a.Type}}
		})}})
	}
	for _, a := range attributes {
		c.row("%s/%s(%s)\n", a.Prefix, a.Name, a.Type)
	}
	fmt.Fprintln(c.Stdout)
	return nil
}
