package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// maxLabelWords bounds how many labels or nodes one command line names.
const maxLabelWords = 100000

const (
	noLabels   = "No cluster node-labels are specified"
	noMappings = "No node-to-labels mappings are specified"
	labelForm  = "Input format for adding node-labels is not correct, it should be labelName1[(exclusive=true/false)],LabelName2[] .."
)

// labelWord parses the words of a label command, whose own name is its option.
func (c *call) labelWord(name, empty string) (*parsed, string, error) {
	p, err := parse([]option{{name: name, values: 1}, {name: "failOnUnknownNodes"}, {name: "directlyAccessNodeLabelStore"}}, c.args)
	var none errMissing
	if errors.As(err, &none) {
		return nil, "", c.adminMistake(empty)
	}
	if err != nil {
		return nil, "", adminParseError(err)
	}
	if p.has("directlyAccessNodeLabelStore") {
		return nil, "", fmt.Errorf("-directlyAccessNodeLabelStore is deprecated and not built; leave it out to go through the ResourceManager")
	}
	return p, p.first(name), nil
}

// addLabels, removeLabels and replaceLabels are one call each; the
// ResourceManager checks them as a whole.
func addLabels(c *call, _ []string) error {
	_, word, err := c.labelWord("addToClusterNodeLabels", noLabels)
	if err != nil {
		return err
	}
	labels, err := parseLabels(word)
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	return rm.AddClusterLabels(c.ctx, labels)
}

// parseLabels reads name[(exclusive=true|false)],...
func parseLabels(s string) ([]client.NodeLabel, error) {
	var out []client.NodeLabel
	for _, word := range strings.SplitN(s, ",", maxLabelWords) {
		if strings.TrimSpace(word) == "" {
			continue
		}
		label, err := parseLabel(word)
		if err != nil {
			return nil, err
		}
		out = append(out, label)
	}
	if len(out) == 0 {
		return nil, badArgument(noLabels)
	}
	return out, nil
}

// parseLabel reads one label. Only the property exclusive is known.
func parseLabel(word string) (client.NodeLabel, error) {
	label := client.NodeLabel{Name: word, Exclusive: true}
	open, shut := strings.Index(word, "("), strings.Index(word, ")")
	if (open < 0) != (shut < 0) || open > shut {
		return label, badArgument(labelForm)
	}
	if open > 0 {
		property := word[open+1 : shut]
		key, value, pair := strings.Cut(property, "=")
		switch value = strings.TrimSpace(value); {
		case !pair && strings.TrimSpace(property) == "":
		case pair && strings.TrimSpace(key) == "exclusive" && (value == "true" || value == "false"):
			label.Exclusive = value == "true"
		default:
			return label, badArgument(labelForm)
		}
	}
	if open >= 0 {
		label.Name = strings.TrimSpace(word[:open])
	}
	return label, nil
}

func removeLabels(c *call, _ []string) error {
	_, word, err := c.labelWord("removeFromClusterNodeLabels", noLabels)
	if err != nil {
		return err
	}
	names := notBlank(strings.SplitN(word, ",", maxLabelWords))
	if len(names) == 0 {
		return badArgument(noLabels)
	}
	slices.Sort(names)
	rm, err := c.client()
	if err != nil {
		return err
	}
	return rm.RemoveClusterLabels(c.ctx, slices.Compact(names))
}

func replaceLabels(c *call, _ []string) error {
	p, word, err := c.labelWord("replaceLabelsOnNode", noMappings)
	if err != nil {
		return err
	}
	nodes, err := parseNodeLabels(word)
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	return rm.ReplaceLabels(c.ctx, nodes, p.has("failOnUnknownNodes"))
}

// parseNodeLabels reads node[:port]=label, or node[:port],label, separated by
// spaces or line ends; a word that begins with # is a comment. The last word
// about a node counts.
func parseNodeLabels(s string) ([]client.NodeLabels, error) {
	var out []client.NodeLabels
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' }) {
		if word = strings.TrimSpace(word); word == "" || word[0] == '#' {
			continue
		}
		n, err := parseNodeLabel(word)
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(o client.NodeLabels) bool { return o.Node == n.Node })
		if out = append(out, n); len(out) > maxLabelWords {
			return nil, badArgument("more than %d nodes at once", maxLabelWords)
		}
	}
	if len(out) == 0 {
		return nil, badArgument(noMappings)
	}
	return out, nil
}

// parseNodeLabel reads one node with its label; no label means that the node's
// label is removed.
func parseNodeLabel(word string) (client.NodeLabels, error) {
	name, rest, ok := strings.Cut(word, "=")
	if !ok {
		name, rest, _ = strings.Cut(word, ",")
	}
	if strings.TrimSpace(name) == "" {
		return client.NodeLabels{}, badArgument("node name cannot be empty")
	}
	full := name
	if !strings.Contains(name, ":") {
		full = name + ":0"
	}
	id, err := parseNode(full)
	if err != nil {
		var java javaError
		errors.As(err, &java)
		return client.NodeLabels{}, badArgument("%s", java.message)
	}
	labels := notBlank(strings.Split(rest, ","))
	if len(labels) > 1 {
		return client.NodeLabels{}, badArgument("%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now.", len(labels), name)
	}
	return client.NodeLabels{Node: yarn.NodeID{Host: id.Host, Port: id.Port}, Labels: labels}, nil
}
