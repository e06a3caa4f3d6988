package view

import (
	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/yarn"
)

// Reservation is a promise of a plan.
type Reservation struct {
	ID         yarn.ReservationID
	Plan       string // full path of the queue
	User       string // who submitted it, or changed it last
	Accepted   int64  // milliseconds since 1970
	Definition yarn.ReservationDefinition
	Intervals  []reserve.Interval // what it gets, and when; milliseconds since 1970, or since the beginning of a period
}
