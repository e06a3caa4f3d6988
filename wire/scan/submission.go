package scan

import (
	"fmt"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/yarn"
)

// Submission has the fields of an ApplicationSubmissionContextProto that a ResourceManager uses. Texts and Tokens alias the bytes of the context.
type Submission struct {
	ID                yarn.ApplicationID
	Name, Queue, Type []byte
	Priority          int32
	PrioritySet       bool
	Launch            bool   // it has a launch context
	Tokens            []byte // of the launch context
	ACLs              []ACL  // of the launch context
	Unmanaged         bool
	MaxAttempts       int32
	KeepContainers    bool
	Tags              [][]byte
	ValidityInterval  int64
	Reservation       yarn.ReservationID
	Label             []byte
	LabelSet          bool
	Timeouts          []Timeout

	Sized       bool          // it has a Size
	Size        yarn.Resource // of the master's container; not used where there are Asks
	SizeRefused error         // why this cluster cannot have such a size
	Asks        []yarn.Ask    // for the master's container; nothing in them aliases the context
	AsksRefused error         // what is wrong with the first ask that is refused, or that there are too many
}

// ACL is an ApplicationACLMapProto.
type ACL struct {
	View bool // it is about viewing the application; else about modifying it
	Text []byte
}

// Timeout is an ApplicationTimeoutMapProto.
type Timeout struct {
	Lifetime bool // its type is LIFETIME
	Seconds  int64
}

// Defaults of fields that a context does not set.
var (
	noName       = []byte("N/A")
	defaultQueue = []byte("default")
	defaultType  = []byte("YARN")
	nobody       = []byte(" ") // an ACL that admits nobody
)

// Scan reads a context b. It overwrites what s had before and uses its memory again, except that of Asks. Of more than that many asks the
// first are kept, and AsksRefused tells.
func (s *Submission) Scan(b []byte, types yarn.ResourceTypes, asks int) error {
	*s = Submission{Name: noName, Queue: defaultQueue, Type: defaultType, ValidityInterval: -1, ACLs: s.ACLs[:0], Tags: s.Tags[:0], Timeouts: s.Timeouts[:0]}
	var size amounts
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			f.Fail(field.ReadApplicationID(f.Data, &s.ID))
		case 2<<3 | field.Block:
			s.Name = f.Data
		case 3<<3 | field.Block:
			s.Queue = f.Data
		case 4<<3 | field.Block:
			f.Fail(s.priority(f.Data))
		case 5<<3 | field.Block:
			f.Fail(s.launch(f.Data))
		case 7<<3 | field.Varint:
			s.Unmanaged = f.V != 0
		case 8<<3 | field.Varint:
			s.MaxAttempts = int32(f.V)
		case 9<<3 | field.Block:
			s.Sized = true
			f.Fail(size.scan(f.Data, types))
		case 10<<3 | field.Block:
			s.Type = f.Data
		case 11<<3 | field.Varint:
			s.KeepContainers = f.V != 0
		case 12<<3 | field.Block:
			s.Tags = append(s.Tags, f.Data)
		case 13<<3 | field.Varint:
			s.ValidityInterval = int64(f.V)
		case 14<<3 | field.Block, 19<<3 | field.Block: // for nodes, and for nobody
			f.Fail(field.WellFormed(f.Data))
		case 15<<3 | field.Block:
			f.Fail(s.reservation(f.Data))
		case 16<<3 | field.Block:
			s.Label, s.LabelSet = f.Data, true
		case 17<<3 | field.Block:
			f.Fail(s.ask(f.Data, types, asks))
		case 18<<3 | field.Block:
			f.Fail(s.timeout(f.Data))
		}
	}
	s.Size, s.SizeRefused = size.sum(), size.refused
	if f.Err != nil {
		return fmt.Errorf("submission context: %w", f.Err)
	}
	return nil
}

// ask reads a ResourceRequestProto. Those beyond the bound are not kept, and refused like one that makes no sense: whether that matters
// depends on what else the context says.
func (s *Submission) ask(b []byte, types yarn.ResourceTypes, most int) error {
	if len(s.Asks) == most {
		if s.AsksRefused == nil {
			s.AsksRefused = &LimitError{"requests for the master's container", most}
		}
		return field.WellFormed(b)
	}
	x, refused, err := askOf(b, types)
	if s.Asks = append(s.Asks, x); s.AsksRefused == nil {
		s.AsksRefused = refused
	}
	return err
}

// priority reads a PriorityProto.
func (s *Submission) priority(b []byte) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		if f.Tag == 1<<3|field.Varint {
			s.Priority, s.PrioritySet = int32(f.V), true
		}
	}
	return f.Err
}

// launch reads a ContainerLaunchContextProto.
func (s *Submission) launch(b []byte) error {
	s.Launch = true
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block, 3<<3 | field.Block, 4<<3 | field.Block: // files, data for services, environment
			f.Fail(field.WellFormed(f.Data))
		case 2<<3 | field.Block:
			s.Tokens = f.Data
		case 6<<3 | field.Block:
			f.Fail(s.acl(f.Data))
		}
	}
	return f.Err
}

func (s *Submission) acl(b []byte) error {
	x := ACL{View: true, Text: nobody}
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			x.View = int32(f.V) == 1
		case 2<<3 | field.Block:
			x.Text = f.Data
		}
	}
	s.ACLs = append(s.ACLs, x)
	return f.Err
}

func (s *Submission) timeout(b []byte) error {
	x := Timeout{Lifetime: true}
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			x.Lifetime = int32(f.V) == 1
		case 2<<3 | field.Varint:
			x.Seconds = int64(f.V)
		}
	}
	s.Timeouts = append(s.Timeouts, x)
	return f.Err
}

// reservation reads a ReservationIdProto.
func (s *Submission) reservation(b []byte) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			s.Reservation.Number = int64(f.V)
		case 2<<3 | field.Varint:
			s.Reservation.ClusterTimestamp = int64(f.V)
		}
	}
	return f.Err
}
