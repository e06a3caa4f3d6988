package token

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/wire/field"
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
	dst = field.AppendContainerID(dst, 1, c.ID)
	dst = field.AppendText(dst, 2, c.NodeAddress)
	dst = field.AppendText(dst, 3, c.Submitter)
	dst = field.AppendResource(dst, 4, c.Resource, types)
	dst = field.AppendInt(dst, 5, c.Expires)
	dst = field.AppendInt(dst, 6, int64(c.KeyID))
	dst = field.AppendInt(dst, 7, c.Issuer)
	dst, mark := field.Open(dst, 8)
	dst = field.Shut(field.AppendInt(dst, 1, int64(c.Priority)), mark)
	dst = field.AppendInt(dst, 9, c.Created)
	if c.LogContext != nil {
		dst = field.AppendBytes(dst, 10, c.LogContext)
	}
	dst = field.AppendText(dst, 11, c.Label)
	dst = field.AppendInt(dst, 12, containerType(c.Master))
	dst = field.AppendInt(dst, 13, executionType(c.ExecutionType))
	dst = field.AppendInt(dst, 14, int64(c.Version))
	dst = field.AppendInt(dst, 15, c.AllocationRequestID)
	for _, tag := range c.AllocationTags {
		dst = field.AppendText(dst, 16, tag)
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
	s := field.Walk{Rest: b}
	for s.Next() {
		switch num := protowire.Number(s.Tag >> 3); s.Tag & 7 {
		case field.Varint:
			c.setNumber(num, s.V)
		case field.Block:
			s.Fail(c.setBody(num, s.Data, types))
		}
	}
	err := checkSize(b, s.Err)
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
		return field.ReadContainerID(body, &c.ID)
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
	s := field.Walk{Rest: b}
	for s.Next() {
		if s.Tag == 1<<3|field.Varint {
			*p = int32(s.V)
		}
	}
	return s.Err
}

// parseResource reads a ResourceProto. Memory and vcores come from their own
// fields, whatever the value map says of them, as in Java.
func parseResource(b []byte, r *yarn.Resource, types yarn.ResourceTypes) error {
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Varint:
			r[yarn.Memory] = int64(s.V)
		case 2<<3 | field.Varint:
			r[yarn.VCores] = int64(int32(s.V))
		case 3<<3 | field.Block:
			s.Fail(parseAmount(s.Data, r, types))
		}
	}
	return s.Err
}

// parseAmount reads a ResourceInformationProto.
func parseAmount(b []byte, r *yarn.Resource, types yarn.ResourceTypes) error {
	var name, units string
	var value int64
	hasUnits := false
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			name = string(s.Data)
		case 2<<3 | field.Varint:
			value = int64(s.V)
		case 3<<3 | field.Block:
			units, hasUnits = string(s.Data), true
		}
	}
	i := types.Index(name)
	if s.Err != nil || i <= yarn.VCores || i >= yarn.MaxResourceTypes {
		return s.Err
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
