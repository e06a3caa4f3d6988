package state

import "github.com/heddle-project/heddle/yarn"

// Reservation is a reservation that a plan has accepted. It is written when it is accepted and when it is changed, and removed when it is deleted, has
// ended or was revoked because the plan became too small.
type Reservation struct {
	ID         yarn.ReservationID
	Plan       string // full path of the queue that is reserved
	User       string // who submitted it, or changed it last
	Definition yarn.ReservationDefinition
	Start, End int64 // milliseconds since 1970
	Accepted   int64 // likewise
	Gangs      bool  // it has no use for more than it reserved
	Intervals  []ReservedInterval

	Unknown []byte
}

// ReservedInterval is what a reservation has from Start until End, in milliseconds since 1970; those of a recurring one since the beginning of a
// period.
type ReservedInterval struct {
	Start, End int64
	Resource   yarn.Resource
}
