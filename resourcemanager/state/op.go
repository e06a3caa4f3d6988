package state

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/heddle-project/heddle/yarn"
)

// Op is one change of the store. Ops are idempotent, so a batch whose outcome is unknown
// can be committed again.
type Op struct {
	Kind   Kind
	Record Record // for OpRemove only what Key needs must be set
}

// Kind tells what an Op does with its record.
type Kind uint8

// The kinds of changes.
const (
	OpPut    Kind = iota + 1 // create the record or replace it as a whole
	OpRemove                 // remove it; an application takes its attempts with it
)

func (k Kind) String() string {
	switch k {
	case OpPut:
		return "put"
	case OpRemove:
		return "remove"
	}
	return "unknown"
}

// Put stores the record in place of an earlier one with the same key.
func Put(r Record) Op { return Op{OpPut, r} }

// Remove removes the record with r's key, if there is one.
func Remove(r Record) Op { return Op{OpRemove, r} }

// RemoveApplication removes an application and all its attempts.
func RemoveApplication(id yarn.ApplicationID) Op { return Remove(Application{ID: id}) }

// RemoveAttempt removes one attempt.
func RemoveAttempt(id yarn.AttemptID) Op { return Remove(Attempt{ID: id}) }

func (op Op) String() string {
	if op.Check() != nil {
		return op.Kind.String() + " nothing"
	}
	return op.Kind.String() + " " + op.Record.Key().String()
}

// Check is an error unless the change has a known kind and a record of this package.
func (op Op) Check() error {
	if op.Kind != OpPut && op.Kind != OpRemove {
		return fmt.Errorf("change of unknown kind %d", op.Kind)
	}
	switch op.Record.(type) {
	case nil:
		return errors.New("change without a record")
	case Application, Attempt, MasterKeys, DelegationKey, DelegationToken, DelegationSequence, NodeDeadline, ConfigVersion, Labels, Reservation:
		return nil
	}
	return fmt.Errorf("change of a %T: records are given by value", op.Record)
}

// Record is one of the durable records of this package; the set is closed.
type Record interface {
	Key() Key
	record()
}

// Table is the table of all records of one type. Its name is part of the stores' formats.
type Table string

// The tables.
const (
	Applications        Table = "application"
	Attempts            Table = "attempt"
	AMRMKeys            Table = "amrm-keys"
	DelegationKeys      Table = "delegation-key"
	DelegationTokens    Table = "delegation-token"
	DelegationSequences Table = "delegation-sequence"
	NodeDeadlines       Table = "node-deadline"
	Configurations      Table = "configuration"
	AllLabels           Table = "labels"
	Reservations        Table = "reservation"
)

// Tables are all tables, in the order in which they are recovered.
func Tables() []Table {
	return []Table{DelegationKeys, DelegationTokens, DelegationSequences, AMRMKeys,
		Applications, Attempts, NodeDeadlines, Configurations, AllLabels, Reservations}
}

// Key identifies a record among all others. It is comparable.
type Key struct {
	Table Table
	Name  string // "application_1700000000000_0007", "host:8041", "12", "current"
}

func (k Key) String() string { return string(k.Table) + "/" + k.Name }

// only is the name of the record in a table that holds a single one.
const only = "current"

// Key is application/application_….
func (r Application) Key() Key { return Key{Applications, r.ID.String()} }

// Key is attempt/appattempt_….
func (r Attempt) Key() Key { return Key{Attempts, r.ID.String()} }

// Key is the same for all master keys.
func (r MasterKeys) Key() Key { return Key{AMRMKeys, only} }

// Key is delegation-key/<id>.
func (r DelegationKey) Key() Key { return Key{DelegationKeys, strconv.Itoa(int(r.ID))} }

// Key is delegation-token/<sequence number>.
func (r DelegationToken) Key() Key { return Key{DelegationTokens, strconv.Itoa(int(r.Sequence))} }

// Key is the same for all sequence numbers.
func (r DelegationSequence) Key() Key { return Key{DelegationSequences, only} }

// Key is node-deadline/<host>:<port>.
func (r NodeDeadline) Key() Key { return Key{NodeDeadlines, r.Node.String()} }

// Key is the same for all versions: only the one in force is kept.
func (r ConfigVersion) Key() Key { return Key{Configurations, only} }

// Key is the same for all states of the labels.
func (r Labels) Key() Key { return Key{AllLabels, only} }

// Key is reservation/reservation_….
func (r Reservation) Key() Key { return Key{Reservations, r.ID.String()} }

func (Application) record()        {}
func (Attempt) record()            {}
func (MasterKeys) record()         {}
func (DelegationKey) record()      {}
func (DelegationToken) record()    {}
func (DelegationSequence) record() {}
func (NodeDeadline) record()       {}
func (ConfigVersion) record()      {}
func (Labels) record()             {}
func (Reservation) record()        {}

// AttemptPrefix is the prefix that the names of an application's attempts have, and
// those of no other application's.
func AttemptPrefix(id yarn.ApplicationID) string {
	first := yarn.AttemptID{Application: id}.String()
	return first[:len(first)-len("000000")]
}
