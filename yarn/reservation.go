package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// ReservationID names a reservation of a plan: the start time of the ResourceManager
// that issued it, in milliseconds, and a number counted from 1.
type ReservationID struct {
	ClusterTimestamp int64
	Number           int64
}

func (id ReservationID) String() string {
	return "reservation_" + strconv.FormatInt(id.ClusterTimestamp, 10) + "_" + pad(id.Number, 4)
}

// IsZero tells whether the identifier was never set.
func (id ReservationID) IsZero() bool { return id == ReservationID{} }

// Compare orders reservations by the age of their ResourceManager, then by number.
func (id ReservationID) Compare(other ReservationID) int {
	return cmp.Or(cmp.Compare(id.ClusterTimestamp, other.ClusterTimestamp), cmp.Compare(id.Number, other.Number))
}

// ParseReservationID reads reservation_<timestamp>_<number>.
func ParseReservationID(s string) (ReservationID, error) {
	n, err := numbers(s, "reservation_", 2)
	if err != nil {
		return ReservationID{}, fmt.Errorf("invalid reservation id %q: want reservation_<timestamp>_<number>: %w", s, err)
	}
	return ReservationID{n[0], n[1]}, nil
}

// Interpreter says how the stages of a reservation belong together.
// The numbers are those of ReservationRequestInterpreterProto.
type Interpreter int32

// The interpreters.
const (
	AnyStage     Interpreter = iota // one stage, the first that can be had
	AllStages                       // all of them, at any time
	Ordered                         // one after the other
	OrderedNoGap                    // one after the other, without a pause
)

func (i Interpreter) String() string {
	switch i {
	case AnyStage:
		return "R_ANY"
	case AllStages:
		return "R_ALL"
	case Ordered:
		return "R_ORDER"
	case OrderedNoGap:
		return "R_ORDER_NO_GAP"
	}
	return "interpreter " + strconv.Itoa(int(i))
}

// ReservationStage is one request of a reservation: so many containers, of which
// Concurrency at a time run together, for so long.
type ReservationStage struct {
	Capability  Resource // of one container
	Containers  int32
	Concurrency int32
	Duration    int64 // milliseconds
}

// NoPriority is the priority of what has none, Hadoop's Priority.UNDEFINED.
const NoPriority = -1

// ReservationDefinition is what a client wants to have reserved.
type ReservationDefinition struct {
	Arrival, Deadline int64 // milliseconds since 1970: not before, and not after
	Name              string
	Priority          int32  // NoPriority: none was given; nothing goes by it
	Recurrence        string // the period in milliseconds; "0": it does not recur
	Interpreter       Interpreter
	Stages            []ReservationStage // nil: the client sent none at all, not even an empty list
}

// Equal tells whether both ask for the same.
func (d *ReservationDefinition) Equal(o *ReservationDefinition) bool {
	return d.Arrival == o.Arrival && d.Deadline == o.Deadline && d.Name == o.Name && d.Priority == o.Priority &&
		d.Recurrence == o.Recurrence && d.Interpreter == o.Interpreter && slices.Equal(d.Stages, o.Stages)
}
