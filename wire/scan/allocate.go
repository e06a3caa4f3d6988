package scan

import (
	"errors"
	"fmt"
	"math"

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
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case 1<<3 | block:
			err = a.ask(f.data, types)
		case 2<<3 | block:
			a.Release = append(a.Release, yarn.ContainerID{})
			err = container(f.data, &a.Release[len(a.Release)-1])
		case 3<<3 | block:
			err = a.blacklist(f.data, most.Blacklist)
		case 4<<3 | varint:
			a.ResponseID = int32(f.v)
		case 5<<3 | fixed32:
			a.Progress = math.Float32frombits(uint32(f.v))
		case 7<<3 | block:
			err = a.update(f.data, types)
		case 10<<3 | block:
			a.Constraints++
		case 11<<3 | block:
			a.TrackingURL = string(f.data)
		}
		if err != nil {
			return fmt.Errorf("allocate request, field %d: %w", f.tag>>3, err)
		}
	}
	return f.err
}

// room counts what the lists will hold before there is memory for it.
func (a *Allocate) room(b []byte, most Bounds) error {
	var asks, releases, updates int
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | block:
			asks++
		case 2<<3 | block:
			releases++
		case 7<<3 | block:
			updates++
		}
	}
	switch {
	case f.err != nil:
		return f.err
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
	a.Asks = append(a.Asks, yarn.Ask{RelaxLocality: true, AllocationRequestID: -1})
	x := &a.Asks[len(a.Asks)-1]
	var r amounts
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case 1<<3 | block:
			err = number(f.data, &x.Priority)
		case 2<<3 | block:
			x.Where = place(f.data)
		case 3<<3 | block:
			err = r.scan(f.data, types)
		case 4<<3 | varint:
			x.Count = int32(f.v)
		case 5<<3 | varint:
			x.RelaxLocality = f.v != 0
		case 6<<3 | block:
			x.Label, x.LabelSet = string(f.data), true
		case 7<<3 | block:
			err = executionRequest(f.data, x)
		case 8<<3 | varint:
			x.AllocationRequestID = int64(f.v)
		}
		if err != nil {
			return err
		}
	}
	x.Capability = r.sum()
	switch {
	case r.refused != nil:
		a.refuse(r.refused)
	case x.Where == "":
		a.refuse(fmt.Errorf("a resource request of priority %d names no place; ask for %q where any will do", x.Priority, yarn.AnyHost))
	}
	return f.err
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
	f := fields{rest: b}
	for f.next() {
		if f.tag == 1<<3|varint {
			*n = int32(f.v)
		}
	}
	return f.err
}

func executionRequest(b []byte, x *yarn.Ask) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			x.ExecutionType = execution(f.v)
		case 2<<3 | varint:
			x.EnforceExecution = f.v != 0
		}
	}
	return f.err
}

func (a *Allocate) blacklist(b []byte, most int) error {
	f := fields{rest: b}
	for f.next() {
		if f.tag != 1<<3|block && f.tag != 2<<3|block {
			continue
		}
		if len(a.BlacklistAdd)+len(a.BlacklistRemove) == most {
			return &LimitError{"blacklist entries", most}
		}
		if f.tag == 1<<3|block {
			a.BlacklistAdd = append(a.BlacklistAdd, string(f.data))
		} else {
			a.BlacklistRemove = append(a.BlacklistRemove, string(f.data))
		}
	}
	return f.err
}

var errIncompleteUpdate = errors.New("a container update must have a version, a container and a type")

// update reads an UpdateContainerRequestProto, the one message here with
// required fields of its own.
func (a *Allocate) update(b []byte, types yarn.ResourceTypes) error {
	var x yarn.ContainerUpdate
	var r amounts
	var version, id, kind bool
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case 1<<3 | varint:
			x.Version, version = int32(f.v), true
		case 2<<3 | block:
			err, id = container(f.data, &x.Container), true
		case 3<<3 | varint:
			x.Type, kind = yarn.UpdateType(f.v), true
		case 4<<3 | block:
			err = r.scan(f.data, types)
		case 5<<3 | varint:
			x.ExecutionType = execution(f.v)
		}
		if err != nil {
			return err
		}
	}
	if f.err == nil && !(version && id && kind) {
		return errIncompleteUpdate
	}
	if r.refused != nil {
		a.refuse(r.refused)
	}
	x.Capability = r.sum()
	a.Updates = append(a.Updates, x)
	return f.err
}
