package rest

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// room is the sum of the usable nodes of a partition.
type room struct {
	total  yarn.Resource
	active int
}

// rooms has the partitions with usable nodes, by label.
func rooms(c *view.Cluster) map[string]room {
	out := map[string]room{}
	for _, n := range c.Nodes {
		if n.State.Usable() {
			label := strings.Join(n.Labels, ",")
			out[label] = room{out[label].total.Add(n.Total), out[label].active + 1}
		}
	}
	return out
}

func labelObject(l view.Label) *tree.Object {
	return tree.New().Add("name", l.Name).Add("exclusivity", l.Exclusive)
}

func partitionInfo(c *view.Cluster, r room) *tree.Object {
	return tree.New().Add("resourceAvailable", resource(c.ResourceTypes, r.total))
}

func labelsDoc(list tree.List) *answer.Response {
	return answer.Bare("nodeLabelsInfo", tree.New().Add("nodeLabelInfo", list))
}

func (s *server) labels(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	var list tree.List
	all := rooms(c)
	for _, l := range c.Labels.Known {
		list = append(list, labelObject(l).Add("partitionInfo", partitionInfo(c, all[l.Name])))
	}
	return labelsDoc(list), nil
}

// partitions lists the default partition and all labels, with the number of usable nodes.
func (s *server) partitions(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	var list tree.List
	all := rooms(c)
	for _, l := range append([]view.Label{{Exclusive: true}}, c.Labels.Known...) {
		r := all[l.Name]
		if l.Name == "" {
			l.Name = "<DEFAULT_PARTITION>"
		}
		list = append(list, labelObject(l).Add("partitionInfo", partitionInfo(c, r)).Add("activeNMs", r.active))
	}
	return labelsDoc(list), nil
}

func (s *server) nodesToLabels(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	var entries tree.List
	for _, n := range c.Labels.Labelled(c.Nodes) {
		entries = append(entries, tree.New().Add("key", n.Node.String()).Add("value", labelOf(c, n.Label)))
	}
	return mapDoc("nodeToLabelsInfo", "nodeToLabels", entries), nil
}

func mapDoc(root, name string, entries tree.List) *answer.Response {
	return answer.Bare(root, tree.New().AddIf(len(entries) > 0, name, tree.New().Add("entry", entries)))
}

// labelOf is a list of the label with that name; empty if it is not known.
func labelOf(c *view.Cluster, name string) *tree.Object {
	var list tree.List
	if l, ok := c.Labels.Find(name); ok {
		list = append(list, labelObject(l))
	}
	return tree.New().Add("nodeLabelInfo", list)
}

// labelsToNodes lists the nodes of the named labels; if none is named, of all. Labels
// without nodes are left out.
func (s *server) labelsToNodes(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	nodes := map[string]tree.List{}
	for _, n := range c.Labels.Labelled(c.Nodes) {
		nodes[n.Label] = append(nodes[n.Label], n.Node.String())
	}
	wanted := r.URL.Query()["labels"]
	var entries tree.List
	all := rooms(c)
	for _, l := range c.Labels.Known {
		if (len(wanted) == 0 || slices.Contains(wanted, l.Name)) && nodes[l.Name] != nil {
			entries = append(entries, tree.New().Add("key", labelObject(l)).
				Add("value", tree.New().Add("nodes", nodes[l.Name]).Add("partitionInfo", partitionInfo(c, all[l.Name]))))
		}
	}
	return mapDoc("labelsToNodesInfo", "labelsToNodes", entries), nil
}

// labelledNode parses host:port, or a host, which stands for all of its nodes.
func labelledNode(text string) (yarn.NodeID, error) {
	if !strings.Contains(text, ":") {
		return yarn.NodeID{Host: text}, nil
	}
	return nodeID(text)
}

func (s *server) nodeLabels(r *http.Request) (*answer.Response, error) {
	id, err := labelledNode(r.PathValue("node"))
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	return answer.Bare("nodeLabelsInfo", labelOf(c, c.Labels.Of(id))), nil
}

// oneOrMany is read from a list, or from a single element.
type oneOrMany[T any] []T

func (l *oneOrMany[T]) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]T)(l))
	}
	var one T
	err := json.Unmarshal(b, &one)
	*l = oneOrMany[T]{one}
	return err
}

// flag is read from a boolean or from its text.
type flag bool

func (f *flag) UnmarshalText(b []byte) error {
	*f = flag(strings.EqualFold(strings.TrimSpace(string(b)), "true"))
	return nil
}

func (f *flag) UnmarshalJSON(b []byte) error {
	return f.UnmarshalText([]byte(strings.Trim(string(b), `"`)))
}

// labelsBody is the body of add-node-labels.
//
// compat: a label without exclusivity is not exclusive, although the command line makes
// it exclusive.
type labelsBody struct {
	XMLName xml.Name `xml:"nodeLabelsInfo" json:"-"`
	Labels  oneOrMany[struct {
		Name      scalar `xml:"name" json:"name"`
		Exclusive flag   `xml:"exclusivity" json:"exclusivity"`
	}] `xml:"nodeLabelInfo" json:"nodeLabelInfo"`
}

// mappingsBody is the body of replace-node-to-labels.
type mappingsBody struct {
	XMLName xml.Name `xml:"nodeToLabelsEntryList" json:"-"`
	Nodes   oneOrMany[struct {
		Node   string            `xml:"nodeId" json:"nodeId"`
		Labels oneOrMany[string] `xml:"labels" json:"labels"`
	}] `xml:"nodeToLabels" json:"nodeToLabels"`
}

// decode reads a body, JSON or XML.
func decode(r *http.Request, to any) error {
	isXML, body, err := content(r)
	switch {
	case err != nil:
		return err
	case isXML:
		if xml.Unmarshal(body, to) != nil {
			return unreadableXML("")
		}
	case !strings.HasPrefix(strings.TrimSpace(string(body)), "{"):
		return unreadable()
	default:
		err = json.Unmarshal(body, to)
	}
	if err != nil {
		return unreadable()
	}
	return nil
}

// changed is the answer to a change of labels, which is empty.
func changed(err error) (*answer.Response, error) {
	if err != nil {
		return nil, err
	}
	return &answer.Response{}, nil
}

func (s *server) addLabels(r *http.Request) (*answer.Response, error) {
	var body labelsBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	var labels []view.Label
	for _, l := range body.Labels {
		labels = append(labels, view.Label{Name: string(l.Name), Exclusive: bool(l.Exclusive)})
	}
	return changed(s.Controller.AddLabels(r.Context(), webgate.From(r.Context()), labels))
}

func (s *server) removeLabels(r *http.Request) (*answer.Response, error) {
	return changed(s.Controller.RemoveLabels(r.Context(), webgate.From(r.Context()), r.URL.Query()["labels"]))
}

func (s *server) replaceLabels(r *http.Request) (*answer.Response, error) {
	var body mappingsBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	var nodes []view.NodeLabels
	for _, n := range body.Nodes {
		id, err := labelledNode(n.Node)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, view.NodeLabels{Node: id, Labels: n.Labels})
	}
	return changed(s.Controller.ReplaceLabels(r.Context(), webgate.From(r.Context()), "replace-node-to-labels", nodes))
}

func (s *server) replaceNodeLabels(r *http.Request) (*answer.Response, error) {
	id, err := labelledNode(r.PathValue("node"))
	if err != nil {
		return nil, err
	}
	nodes := []view.NodeLabels{{Node: id, Labels: r.URL.Query()["labels"]}}
	return changed(s.Controller.ReplaceLabels(r.Context(), webgate.From(r.Context()), "nodes/nodeid/replace-labels", nodes))
}
