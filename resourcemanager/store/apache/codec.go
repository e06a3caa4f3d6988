package apache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Codec encodes and decodes records as Hadoop stores them. Types are the resource types
// of the cluster.
type Codec struct{ Types yarn.ResourceTypes }

// Own tells whether Hadoop has no such records, so that they are those of package record.
func Own(t state.Table) bool {
	return t == state.NodeDeadlines || t == state.Configurations || t == state.AllLabels
}

// Encode implements store.Codec.
func (c Codec) Encode(r state.Record) ([]byte, error) {
	if err := record.Check(r); err != nil {
		return nil, err
	}
	switch r := r.(type) {
	case state.Application:
		return encodeApplication(r)
	case state.Attempt:
		return c.encodeAttempt(r)
	case state.MasterKeys:
		m := &pb.StoredMasterKeys{CurrentMasterKey: toKey(r.Current)}
		if len(r.Next.Bytes) > 0 {
			m.NextMasterKey = toKey(r.Next)
		}
		return marshal(m, r.Unknown)
	case state.DelegationKey:
		b := token.AppendVInt(nil, int64(r.ID))
		b = token.AppendVInt(b, r.ExpireAt)
		b = token.AppendVInt(b, int64(len(r.Bytes)))
		return append(b, r.Bytes...), nil
	case state.DelegationToken:
		return marshal(&pb.StoredDelegationToken{TokenIdentifier: r.Identifier, RenewDate: &r.RenewBy}, r.Unknown)
	case state.DelegationSequence:
		return binary.BigEndian.AppendUint32(nil, uint32(r.Last)), nil
	case state.Reservation:
		return c.encodeReservation(r)
	}
	return record.Codec{Types: c.Types}.Encode(r)
}

// Decode implements store.Codec.
func (c Codec) Decode(key state.Key, value []byte) (state.Record, error) {
	if Own(key.Table) {
		return record.Codec{Types: c.Types}.Decode(key, value)
	}
	r, err := c.decode(key, value)
	if err != nil {
		return nil, err
	}
	if err := record.Check(r); err != nil {
		return nil, err
	}
	if got := r.Key(); got != key {
		return nil, fmt.Errorf("record says that it is %s", got)
	}
	return r, nil
}

func (c Codec) decode(key state.Key, value []byte) (state.Record, error) {
	switch key.Table {
	case state.Applications:
		id, err := yarn.ParseApplicationID(key.Name)
		if err != nil {
			return nil, err
		}
		return decodeApplication(id, value)
	case state.Attempts:
		return c.decodeAttempt(value)
	case state.AMRMKeys:
		return decodeMasterKeys(value)
	case state.DelegationKeys:
		return decodeDelegationKey(value)
	case state.DelegationTokens:
		return decodeDelegationToken(key.Name, value)
	case state.DelegationSequences:
		if len(value) != 4 {
			return nil, fmt.Errorf("a sequence number of %d bytes, expected 4", len(value))
		}
		return state.DelegationSequence{Last: int32(binary.BigEndian.Uint32(value))}, nil
	case state.Reservations:
		return c.decodeReservation(key, value)
	}
	return nil, fmt.Errorf("no such table %q", key.Table)
}

// maxDepth bounds the nesting of a stored message.
const maxDepth = 100

func unmarshal(b []byte, m proto.Message) error {
	return proto.UnmarshalOptions{RecursionLimit: maxDepth}.Unmarshal(b, m)
}

// marshal is a message followed by what of it was not known when it was read.
func marshal(m proto.Message, unknown []byte) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(b, unknown...), nil
}

// rest is what is left of a message once all that is known was taken out; nil if nothing is.
func rest(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return b, nil
}

func toKey(k state.MasterKey) *pb.MasterKey { return &pb.MasterKey{KeyId: &k.ID, Bytes: k.Bytes} }

func decodeMasterKeys(value []byte) (r state.MasterKeys, err error) {
	m := &pb.StoredMasterKeys{}
	if err := unmarshal(value, m); err != nil {
		return r, err
	}
	if len(m.GetCurrentMasterKey().GetBytes()) == 0 || m.NextMasterKey != nil && len(m.NextMasterKey.GetBytes()) == 0 {
		return r, errors.New("a key without bytes")
	}
	r.Current, m.CurrentMasterKey = fromKey(m.CurrentMasterKey)
	r.Next, m.NextMasterKey = fromKey(m.NextMasterKey)
	r.Unknown, err = rest(m)
	return r, err
}

// fromKey reads a key and returns what is left of its message.
func fromKey(m *pb.MasterKey) (k state.MasterKey, left *pb.MasterKey) {
	if m == nil {
		return k, nil
	}
	k = state.MasterKey{ID: m.GetKeyId(), Bytes: m.GetBytes()}
	m.KeyId, m.Bytes = nil, nil
	return k, filled(m)
}

// filled is m, or nil if it has no field.
func filled[M proto.Message](m M) (out M) {
	if proto.Size(m) == 0 {
		return out
	}
	return m
}

func decodeDelegationKey(b []byte) (r state.DelegationKey, err error) {
	var numbers [3]int64
	for i := range numbers {
		v, n, err := token.ReadVInt(b)
		if err != nil {
			return r, fmt.Errorf("a delegation key: %w", err)
		}
		numbers[i], b = v, b[n:]
	}
	size := int(numbers[2])
	if size == -1 {
		size = 0
	}
	if size != len(b) || numbers[0] != int64(int32(numbers[0])) {
		return r, errors.New("a delegation key whose numbers do not fit its size")
	}
	r = state.DelegationKey{ID: int32(numbers[0]), ExpireAt: numbers[1]}
	if size > 0 {
		r.Bytes = append([]byte(nil), b...)
	}
	return r, nil
}

func decodeDelegationToken(name string, value []byte) (r state.DelegationToken, err error) {
	m := &pb.StoredDelegationToken{}
	if err := unmarshal(value, m); err != nil {
		return r, err
	}
	number, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return r, err
	}
	if m.RenewDate == nil {
		return r, errors.New("a delegation token without a date")
	}
	r = state.DelegationToken{Sequence: int32(number), Identifier: m.GetTokenIdentifier(), RenewBy: m.GetRenewDate()}
	m.TokenIdentifier, m.RenewDate = nil, nil
	r.Unknown, err = rest(m)
	return r, err
}

func (c Codec) encodeReservation(r state.Reservation) ([]byte, error) {
	m := &pb.ReservationAllocationState{ReservationDefinition: convert.ToReservationDefinition(&r.Definition, c.Types), StartTime: &r.Start, EndTime: &r.End,
		User: &r.User, ContainsGangs: &r.Gangs, AcceptanceTime: &r.Accepted, ReservationId: convert.ToReservationID(r.ID)}
	for i := range r.Intervals {
		at := &r.Intervals[i]
		if err := c.fits(at.Resource); err != nil {
			return nil, err
		}
		m.AllocationRequests = append(m.AllocationRequests, &pb.ResourceAllocationRequest{StartTime: &at.Start, EndTime: &at.End, Resource: convert.ToResource(at.Resource, c.Types)})
	}
	for _, s := range r.Definition.Stages {
		if err := c.fits(s.Capability); err != nil {
			return nil, err
		}
	}
	b, err := marshal(m, r.Unknown)
	return WithPlan(b, r.Plan), err
}

// planField is a field of ours in the record of a reservation.
const planField = 1000

// WithPlan adds to a stored reservation which plan it is of. Hadoop has that in the name
// of its directory alone.
func WithPlan(value []byte, plan string) []byte {
	value = protowire.AppendTag(value, planField, protowire.BytesType)
	return protowire.AppendString(value, plan)
}

func (c Codec) decodeReservation(key state.Key, value []byte) (r state.Reservation, err error) {
	m := &pb.ReservationAllocationState{}
	if err := unmarshal(value, m); err != nil {
		return r, err
	}
	if m.ReservationId == nil { // Hadoop has it in the name alone
		id, err := yarn.ParseReservationID(key.Name)
		if err != nil {
			return r, err
		}
		m.ReservationId = convert.ToReservationID(id)
	}
	r = state.Reservation{ID: convert.ReservationID(m.ReservationId), User: m.GetUser(), Start: m.GetStartTime(), End: m.GetEndTime(),
		Accepted: m.GetAcceptanceTime(), Gangs: m.GetContainsGangs()}
	definition, err := convert.ReservationDefinition(m.ReservationDefinition, c.Types)
	if err != nil {
		return r, err
	}
	if definition != nil {
		if r.Definition = *definition; len(r.Definition.Stages) == 0 {
			r.Definition.Stages = nil
		}
	}
	for _, at := range m.AllocationRequests {
		amount, err := convert.Resource(at.GetResource(), c.Types)
		if err != nil {
			return r, err
		}
		r.Intervals = append(r.Intervals, state.ReservedInterval{Start: at.GetStartTime(), End: at.GetEndTime(), Resource: amount})
	}
	for unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0; {
		number, kind, n := protowire.ConsumeField(unknown)
		if n < 0 {
			return r, protowire.ParseError(n)
		}
		if number == planField && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(unknown)
			plan, _ := protowire.ConsumeString(unknown[tag:])
			r.Plan = plan
		} else {
			r.Unknown = append(r.Unknown, unknown[:n]...)
		}
		unknown = unknown[n:]
	}
	return r, nil
}

// fits is an error if there are amounts of more types than the cluster has.
func (c Codec) fits(r yarn.Resource) error {
	for i, amount := range r {
		if amount != 0 && i >= len(c.Types) {
			return fmt.Errorf("amount %d at position %d, but the cluster has only %d resource types", amount, i, len(c.Types))
		}
	}
	return nil
}

func clip32(n int64) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }
