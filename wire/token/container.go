package token

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/yarn"
)

// MaxAllocationTags bounds the tags of a container that are read.
const MaxAllocationTags = 1000

// Container lets its holder start one container, as described, on one node.
type Container struct {
	ID                  yarn.ContainerID
	NodeAddress         string // "host:port", the node's id
	Submitter           string // the application's user
	Resource            yarn.Resource
	Expires             int64 // milliseconds since 1970; not to be started later
	KeyID               int32
	Issuer              int64 // start time of the ResourceManager, milliseconds since 1970
	Priority            int32
	Created             int64  // milliseconds since 1970
	LogContext          []byte // LogAggregationContextProto as submitted; nil if there is none
	Label               string
	Master              bool // runs the application's master
	ExecutionType       yarn.ExecutionType
	Version             int32    // counts the container's updates
	AllocationRequestID int64    // -1 if there is none
	AllocationTags      []string // in the order in which they are to be written
}

// Append appends a ContainerTokenIdentifierProto as Java writes it. Resource
// amounts are given in the units of types, whose first two entries are memory
// and vcores.
func (c *Container) Append(dst []byte, types yarn.ResourceTypes) []byte {
	dst = appendContainerID(dst, 1, c.ID)
	dst = appendString(dst, 2, c.NodeAddress)
	dst = appendString(dst, 3, c.Submitter)
	dst = appendResource(dst, 4, c.Resource, types)
	dst = appendInt(dst, 5, c.Expires)
	dst = appendInt(dst, 6, int64(c.KeyID))
	dst = appendInt(dst, 7, c.Issuer)
	dst, mark := open(dst, 8)
	dst = shut(appendInt(dst, 1, int64(c.Priority)), mark)
	dst = appendInt(dst, 9, c.Created)
	if c.LogContext != nil {
		dst = appendBody(dst, 10, c.LogContext)
	}
	dst = appendString(dst, 11, c.Label)
	dst = appendInt(dst, 12, containerType(c.Master))
	dst = appendInt(dst, 13, executionType(c.ExecutionType))
	dst = appendInt(dst, 14, int64(c.Version))
	dst = appendInt(dst, 15, c.AllocationRequestID)
	for _, tag := range c.AllocationTags {
		dst = appendString(dst, 16, tag)
	}
	return dst
}

// The values of ContainerTypeProto and ExecutionTypeProto.
const (
	protoMaster        = 1
	protoTask          = 2
	protoOpportunistic = 2
	protoGuaranteed    = 1
)

func containerType(master bool) int64 {
	if master {
		return protoMaster
	}
	return protoTask
}

func executionType(t yarn.ExecutionType) int64 {
	if t == yarn.Opportunistic {
		return protoOpportunistic
	}
	return protoGuaranteed
}

var errNoContainer = errors.New("it names no container")

// ParseContainer reads a ContainerTokenIdentifierProto. Unknown fields, and
// amounts of resources that are not among types, are skipped; amounts in other
// units than those of types are converted. LogContext shares memory with b.
func ParseContainer(b []byte, types yarn.ResourceTypes) (Container, error) {
	c := Container{KeyID: noKey, AllocationRequestID: -1}
	s := scanner{rest: b}
	for s.next() {
		switch s.typ {
		case protowire.VarintType:
			c.setNumber(s.num, s.n)
		case protowire.BytesType:
			s.fail(c.setBody(s.num, s.body, types))
		}
	}
	err := checkSize(b, s.err)
	if err == nil && c.ID.IsZero() {
		err = errNoContainer
	}
	if err != nil {
		return Container{}, fmt.Errorf("reading a %s identifier: %w", KindContainer, err)
	}
	return c, nil
}

func (c *Container) setNumber(num protowire.Number, n uint64) {
	switch num {
	case 5:
		c.Expires = int64(n)
	case 6:
		c.KeyID = int32(n)
	case 7:
		c.Issuer = int64(n)
	case 9:
		c.Created = int64(n)
	case 12:
		c.Master = n == protoMaster
	case 13:
		c.ExecutionType = yarn.Guaranteed
		if n == protoOpportunistic {
			c.ExecutionType = yarn.Opportunistic
		}
	case 14:
		c.Version = int32(n)
	case 15:
		c.AllocationRequestID = int64(n)
	}
}

func (c *Container) setBody(num protowire.Number, body []byte, types yarn.ResourceTypes) error {
	switch num {
	case 1:
		return parseContainerID(body, &c.ID)
	case 2:
		c.NodeAddress = string(body)
	case 3:
		c.Submitter = string(body)
	case 4:
		return parseResource(body, &c.Resource, types)
	case 8:
		return parsePriority(body, &c.Priority)
	case 10:
		c.LogContext = body
	case 11:
		c.Label = string(body)
	case 16:
		if len(c.AllocationTags) == MaxAllocationTags {
			return fmt.Errorf("more than %d allocation tags", MaxAllocationTags)
		}
		c.AllocationTags = append(c.AllocationTags, string(body))
	}
	return nil
}

func parsePriority(b []byte, p *int32) error {
	s := scanner{rest: b}
	for s.next() {
		if s.varint(1) {
			*p = int32(s.n)
		}
	}
	return s.err
}

// appendResource appends a ResourceProto: memory and vcores in fields of their
// own, then every type of the cluster as an entry of the value map.
func appendResource(dst []byte, num protowire.Number, r yarn.Resource, types yarn.ResourceTypes) []byte {
	dst, whole := open(dst, num)
	dst = appendInt(dst, 1, r.MemoryMB())
	dst = appendInt(dst, 2, min(r.VCoreCount(), math.MaxInt32))
	for i, t := range types[:min(len(types), yarn.MaxResourceTypes)] {
		var entry int
		dst, entry = open(dst, 3)
		dst = appendString(dst, 1, t.Name)
		dst = appendInt(dst, 2, r[i])
		dst = appendString(dst, 3, t.Units)
		dst = shut(appendInt(dst, 4, 0), entry) // countable, the only type there is
	}
	return shut(dst, whole)
}

// parseResource reads a ResourceProto. Memory and vcores come from their own
// fields, whatever the value map says of them, as in Java.
func parseResource(b []byte, r *yarn.Resource, types yarn.ResourceTypes) error {
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.varint(1):
			r[yarn.Memory] = int64(s.n)
		case s.varint(2):
			r[yarn.VCores] = int64(int32(s.n))
		case s.message(3):
			s.fail(parseAmount(s.body, r, types))
		}
	}
	return s.err
}

// parseAmount reads a ResourceInformationProto.
func parseAmount(b []byte, r *yarn.Resource, types yarn.ResourceTypes) error {
	var name, units string
	var value int64
	hasUnits := false
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.text(1):
			name = string(s.body)
		case s.varint(2):
			value = int64(s.n)
		case s.text(3):
			units, hasUnits = string(s.body), true
		}
	}
	i := types.Index(name)
	if s.err != nil || i <= yarn.VCores || i >= yarn.MaxResourceTypes {
		return s.err
	}
	if hasUnits && units != types[i].Units {
		var err error
		if value, err = convert(value, units, types[i].Units); err != nil {
			return fmt.Errorf("amount of %s: %w", name, err)
		}
	}
	r[i] = value
	return nil
}
