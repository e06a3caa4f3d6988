package scan

import (
	"errors"
	"fmt"
	"math"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/yarn"
)

// Allocate is an AllocateRequestProto. Nothing in it aliases the request.
type Allocate struct {
	ResponseID      int32
	Progress        float32
	TrackingURL     string
	Asks            []yarn.Ask
	Release         []yarn.ContainerID
	BlacklistAdd    []string
	BlacklistRemove []string
	Updates         []yarn.ContainerUpdate
	Constraints     int // scheduling requests, which are counted only

	// Refused says what is wrong with the content of a request that is well
	// formed, such as a resource that the cluster does not have.
	Refused error
}

// Bounds of an Allocate's lists.
type Bounds struct{ Asks, Releases, Blacklist, Updates int }

// Scan reads a request of a cluster with those resource types. An error is a
// *LimitError or tells what is malformed; whatever is in the lists by then is
// not to be used.
func (a *Allocate) Scan(b []byte, types yarn.ResourceTypes, most Bounds) error {
	if err := a.room(b, most); err != nil {
		return err
	}
	f := field.Walk{Rest: b}
	for f.Next() {
		var err error
		switch f.Tag {
		case 1<<3 | field.Block:
			err = a.ask(f.Data, types)
		case 2<<3 | field.Block:
			a.Release = append(a.Release, yarn.ContainerID{})
			err = field.ReadContainerID(f.Data, &a.Release[len(a.Release)-1])
		case 3<<3 | field.Block:
			err = a.blacklist(f.Data, most.Blacklist)
		case 4<<3 | field.Varint:
			a.ResponseID = int32(f.V)
		case 5<<3 | field.Fixed32:
			a.Progress = math.Float32frombits(uint32(f.V))
		case 7<<3 | field.Block:
			err = a.update(f.Data, types)
		case 10<<3 | field.Block:
			a.Constraints++
		case 11<<3 | field.Block:
			a.TrackingURL = string(f.Data)
		}
		if err != nil {
			return fmt.Errorf("allocate request, field %d: %w", f.Tag>>3, err)
		}
	}
	return f.Err
}

// room counts what the lists will hold before there is memory for it.
func (a *Allocate) room(b []byte, most Bounds) error {
	var asks, releases, updates int
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			asks++
		case 2<<3 | field.Block:
			releases++
		case 7<<3 | field.Block:
			updates++
		}
	}
	switch {
	case f.Err != nil:
		return f.Err
	case asks > most.Asks:
		return &LimitError{"resource requests", most.Asks}
	case releases > most.Releases:
		return &LimitError{"releases", most.Releases}
	case updates > most.Updates:
		return &LimitError{"container updates", most.Updates}
	}
	*a = Allocate{}
	if asks > 0 {
		a.Asks = make([]yarn.Ask, 0, asks)
	}
	if releases > 0 {
		a.Release = make([]yarn.ContainerID, 0, releases)
	}
	return nil
}

func (a *Allocate) refuse(err error) {
	if a.Refused == nil {
		a.Refused = err
	}
}

// ask reads a ResourceRequestProto.
func (a *Allocate) ask(b []byte, types yarn.ResourceTypes) error {
	x, refused, err := askOf(b, types)
	if a.Asks = append(a.Asks, x); refused != nil {
		a.refuse(refused)
	}
	return err
}

// askOf is a ResourceRequestProto, and what of it makes no sense in this cluster.
func askOf(b []byte, types yarn.ResourceTypes) (x yarn.Ask, refused, err error) {
	x = yarn.Ask{RelaxLocality: true, AllocationRequestID: -1}
	var r amounts
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			err = number(f.Data, &x.Priority)
		case 2<<3 | field.Block:
			x.Where = place(f.Data)
		case 3<<3 | field.Block:
			err = r.scan(f.Data, types)
		case 4<<3 | field.Varint:
			x.Count = int32(f.V)
		case 5<<3 | field.Varint:
			x.RelaxLocality = f.V != 0
		case 6<<3 | field.Block:
			x.Label, x.LabelSet = string(f.Data), true
		case 7<<3 | field.Block:
			err = executionRequest(f.Data, &x)
		case 8<<3 | field.Varint:
			x.AllocationRequestID = int64(f.V)
		}
		if err != nil {
			return x, nil, err
		}
	}
	x.Capability = r.sum()
	if refused = r.refused; refused == nil && x.Where == "" {
		refused = fmt.Errorf("a resource request of priority %d names no place; ask for %q where any will do", x.Priority, yarn.AnyHost)
	}
	return x, refused, f.Err
}

// place spares the most frequent one its own memory.
func place(b []byte) string {
	if string(b) == yarn.AnyHost {
		return yarn.AnyHost
	}
	return string(b)
}

// number reads a PriorityProto.
func number(b []byte, n *int32) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		if f.Tag == 1<<3|field.Varint {
			*n = int32(f.V)
		}
	}
	return f.Err
}

func executionRequest(b []byte, x *yarn.Ask) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			x.ExecutionType = execution(f.V)
		case 2<<3 | field.Varint:
			x.EnforceExecution = f.V != 0
		}
	}
	return f.Err
}

func (a *Allocate) blacklist(b []byte, most int) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		if f.Tag != 1<<3|field.Block && f.Tag != 2<<3|field.Block {
			continue
		}
		if len(a.BlacklistAdd)+len(a.BlacklistRemove) == most {
			return &LimitError{"blacklist entries", most}
		}
		if f.Tag == 1<<3|field.Block {
			a.BlacklistAdd = append(a.BlacklistAdd, string(f.Data))
		} else {
			a.BlacklistRemove = append(a.BlacklistRemove, string(f.Data))
		}
	}
	return f.Err
}

var errIncompleteUpdate = errors.New("a container update must have a version, a container and a type")

// update reads an UpdateContainerRequestProto, the one message here with
// required fields of its own.
func (a *Allocate) update(b []byte, types yarn.ResourceTypes) error {
	var x yarn.ContainerUpdate
	var r amounts
	var version, id, kind bool
	f := field.Walk{Rest: b}
	for f.Next() {
		var err error
		switch f.Tag {
		case 1<<3 | field.Varint:
			x.Version, version = int32(f.V), true
		case 2<<3 | field.Block:
			err, id = field.ReadContainerID(f.Data, &x.Container), true
		case 3<<3 | field.Varint:
			x.Type, kind = yarn.UpdateType(f.V), true
		case 4<<3 | field.Block:
			err = r.scan(f.Data, types)
		case 5<<3 | field.Varint:
			x.ExecutionType = execution(f.V)
		}
		if err != nil {
			return err
		}
	}
	if f.Err == nil && !(version && id && kind) {
		return errIncompleteUpdate
	}
	if r.refused != nil {
		a.refuse(r.refused)
	}
	x.Capability = r.sum()
	a.Updates = append(a.Updates, x)
	return f.Err
}
