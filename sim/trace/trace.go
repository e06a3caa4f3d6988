// Package trace reads recorded scenarios: JSON lines, the first of which
// describes a cluster and each further one an event, with what Apache Hadoop
// YARN did about it. test/parity/FORMAT.md is the format's description.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Version is the version of the format that this package reads.
const Version = 1

// Header describes the cluster of a scenario.
type Header struct {
	Version      int                 `json:"trace"`
	About        string              `json:"about"`
	Scheduler    string              `json:"scheduler"`
	Site         Properties          `json:"yarn-site"`
	Capacity     Properties          `json:"capacity-scheduler"`
	Fair         string              `json:"fair-scheduler"`
	Groups       map[string][]string `json:"groups"`
	Types        Properties          `json:"resource-types"`
	Labels       map[string]bool     `json:"node-labels"` // true: exclusive
	RecordedFrom string              `json:"recorded-from"`
	Recorder     int                 `json:"recorder"` // its revision; 0 means 1
}

// LabelNames are the partitions of the header by name.
func (h *Header) LabelNames() []string { return slices.Sorted(maps.Keys(h.Labels)) }

// Property is one setting.
type Property struct{ Name, Value string }

// Properties are settings by name. In a trace their values may be text, numbers
// or truth values; here all are text, as in Hadoop's files.
type Properties []Property

// UnmarshalJSON reads an object.
func (p *Properties) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*p = nil
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		value := string(raw[name])
		switch value[0] {
		case '"':
			if err := json.Unmarshal(raw[name], &value); err != nil {
				return err
			}
		case '{', '[', 'n':
			return fmt.Errorf("property %s: %s is neither text nor a number nor true or false", name, value)
		}
		*p = append(*p, Property{name, value})
	}
	return nil
}

// Amounts are a resource by the names of its types.
type Amounts map[string]int64

// Common is what every event has.
type Common struct {
	N    int    `json:"n"`
	Do   string `json:"do"`
	Line int    `json:"-"` // in the file, counted from 1

	Raw json.RawMessage `json:"-"`   // the line as it is written
	Saw json.RawMessage `json:"saw"` // what was recorded
}

// Event is one line after the header. Only the fields of its kind are set.
type Event struct {
	Common

	Node      string   `json:"node"`
	Rack      string   `json:"rack"`
	Resource  Amounts  `json:"resource"`
	Label     string   `json:"label"`
	Completed []string `json:"completed"`

	App      string   `json:"app"`
	User     string   `json:"user"`
	Queue    string   `json:"queue"`
	Priority *int32   `json:"priority"`
	AM       Amounts  `json:"am"`
	AMLabel  *string  `json:"am-label"`
	Tags     []string `json:"tags"`
	Lifetime int64    `json:"lifetime"` // seconds

	Asks            []Ask    `json:"asks"`
	Release         []string `json:"release"`
	BlacklistAdd    []string `json:"blacklist-add"`
	BlacklistRemove []string `json:"blacklist-remove"`
	Updates         []Update `json:"updates"`

	Capacity  Properties `json:"capacity-scheduler"`
	Fair      string     `json:"fair-scheduler"`
	AdvanceMS int64      `json:"advance-ms"`
	Policy    string     `json:"policy"`
}

// Ask is one row of a master's request.
type Ask struct {
	Priority *int32  `json:"priority"`
	Resource Amounts `json:"resource"`
	Count    *int32  `json:"count"`
	Where    string  `json:"where"`
	Relax    *bool   `json:"relax"`
	Label    *string `json:"label"`
	AllocID  *int64  `json:"alloc-id"`
	Exec     string  `json:"exec"`
}

// Update is a change of a container that a master asks for.
type Update struct {
	Container string  `json:"container"`
	Type      string  `json:"type"`
	Resource  Amounts `json:"resource"`
	Exec      string  `json:"exec"`
}

// Saw is what an event showed, by the names of the format.
type Saw map[string]any

// Answer is one line of a replay.
type Answer struct {
	N   int `json:"n"`
	Saw Saw `json:"saw"`
}

// strict decodes one value and refuses names that the format does not have.
func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one value in a line")
	}
	return nil
}
