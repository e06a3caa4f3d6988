package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Version is the first byte of every value; see the package's description.
const Version = 1

// Overhead is how many bytes a value has besides its fields.
const Overhead = 1 + crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codec encodes and decodes records. Types are the resource types of the cluster;
// amounts of types that the cluster no longer has are kept as unknown fields.
type Codec struct {
	Types yarn.ResourceTypes
}

// Encode is the stored value of a record. A record that Decode would not accept is an
// error, which is permanent.
func (c Codec) Encode(r state.Record) ([]byte, error) {
	return c.AppendTo(make([]byte, 0, room(r)), r)
}

// AppendTo appends the stored value of a record. Its errors are those of Encode.
func (c Codec) AppendTo(b []byte, r state.Record) ([]byte, error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	w := &writer{b: append(b, Version)}
	if err := c.write(w, r); err != nil {
		return nil, err
	}
	value := w.b[len(b):]
	if err := wellFormed(value[1:]); err != nil {
		return nil, fmt.Errorf("unknown fields are not well formed: %w", err)
	}
	return binary.BigEndian.AppendUint32(w.b, crc32.Checksum(value, castagnoli)), nil
}

// room is about how many bytes the stored value of a record takes.
func room(r state.Record) int {
	const most = 256 // that fields take, but for those that can be large
	if a, ok := r.(state.Application); ok {
		return most + len(a.Context) + len(a.Diagnostics) + len(a.Unknown)
	}
	return most
}

// Decode reads the stored value of the record with that key.
func (c Codec) Decode(key state.Key, value []byte) (state.Record, error) {
	body, err := unseal(value)
	if err != nil {
		return nil, err
	}
	r, err := c.read(key.Table, body)
	if err != nil {
		return nil, err
	}
	if err := Check(r); err != nil {
		return nil, err
	}
	if got := r.Key(); got != key {
		return nil, fmt.Errorf("record says that it is %s", got)
	}
	return r, nil
}

// Intact is an error unless the bytes of a stored value are those that were written.
func Intact(value []byte) error {
	if len(value) < Overhead {
		return fmt.Errorf("%d bytes are too few for a record", len(value))
	}
	body, sum := value[:len(value)-crc32.Size], value[len(value)-crc32.Size:]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return errors.New("checksum does not match: the stored bytes are damaged")
	}
	return nil
}

// unseal checks checksum and version and returns the fields.
func unseal(value []byte) ([]byte, error) {
	if err := Intact(value); err != nil {
		return nil, err
	}
	return fields(value)
}

// fields are those of a value that is intact.
func fields(value []byte) ([]byte, error) {
	if value[0] != Version {
		return nil, fmt.Errorf("record format %d, this program reads %d", value[0], Version)
	}
	return value[1 : len(value)-crc32.Size], nil
}

func (c Codec) write(w *writer, r state.Record) error {
	switch r := r.(type) {
	case state.Application:
		writeApplication(w, r)
	case state.Attempt:
		return c.writeAttempt(w, r)
	case state.MasterKeys:
		writeMasterKeys(w, r)
	case state.DelegationKey:
		writeDelegationKey(w, r)
	case state.DelegationToken:
		writeDelegationToken(w, r)
	case state.DelegationSequence:
		w.int(1, int64(r.Last))
		w.b = append(w.b, r.Unknown...)
	case state.NodeDeadline:
		return c.writeNodeDeadline(w, r)
	case state.ConfigVersion:
		writeConfigVersion(w, r)
	case state.Labels:
		writeLabels(w, r)
	case state.Reservation:
		return c.writeReservation(w, r)
	default:
		return fmt.Errorf("no encoding for a %T", r)
	}
	return nil
}

func (c Codec) read(table state.Table, body []byte) (state.Record, error) {
	switch table {
	case state.Applications:
		var r state.Application
		err := readApplication(body, false, nil, &r)
		return r, err
	case state.Attempts:
		return c.readAttempt(body)
	case state.AMRMKeys:
		return readMasterKeys(body)
	case state.DelegationKeys:
		return readDelegationKey(body)
	case state.DelegationTokens:
		return readDelegationToken(body)
	case state.DelegationSequences:
		return readDelegationSequence(body)
	case state.NodeDeadlines:
		return c.readNodeDeadline(body)
	case state.Configurations:
		return readConfigVersion(body)
	case state.AllLabels:
		return readLabels(body)
	case state.Reservations:
		return c.readReservation(body)
	}
	return nil, fmt.Errorf("no such table %q", table)
}

// Check is an error if a record makes no sense. Encode and Decode both use it.
func Check(r state.Record) error {
	switch r := r.(type) {
	case nil:
		return errors.New("no record given")
	case state.Application:
		return checkApplication(&r)
	case state.Attempt:
		return checkAttempt(r)
	case state.NodeDeadline:
		if r.Node.Host == "" {
			return errors.New("a node deadline without a host")
		}
	case state.MasterKeys:
		if len(r.Current.Bytes) == 0 {
			return errors.New("master keys without a current key")
		}
	case state.ConfigVersion:
		if r.Version <= 0 {
			return fmt.Errorf("configuration version %d is not positive", r.Version)
		}
	case state.Labels:
		return checkLabels(r)
	case state.Reservation:
		return checkReservation(r)
	}
	return nil
}

func checkApplication(r *state.Application) error {
	switch {
	case r.ID.ClusterTimestamp <= 0 || r.ID.Sequence <= 0:
		return fmt.Errorf("%s is not a complete application id", r.ID)
	case r.Final != yarn.AppNew && !r.Final.Final():
		return fmt.Errorf("application state %d (%s) is not a final one", r.Final, r.Final)
	case r.FinalStatus > yarn.FinalEnded:
		return fmt.Errorf("final status %d is not known", r.FinalStatus)
	case len(r.Timeouts) > state.MaxTimeouts:
		return fmt.Errorf("%d timeouts, at most %d are allowed", len(r.Timeouts), state.MaxTimeouts)
	}
	for i := 1; i < len(r.Timeouts); i++ {
		if r.Timeouts[i-1].Type >= r.Timeouts[i].Type {
			return fmt.Errorf("timeouts are not ordered by type: %d before %d", r.Timeouts[i-1].Type, r.Timeouts[i].Type)
		}
	}
	return nil
}

func checkAttempt(r state.Attempt) error {
	app := r.ID.Application
	switch {
	case app.ClusterTimestamp <= 0 || app.Sequence <= 0 || r.ID.Attempt <= 0:
		return fmt.Errorf("%s is not a complete attempt id", r.ID)
	case !r.MasterContainer.IsZero() && r.MasterContainer.Attempt != r.ID:
		return fmt.Errorf("master container %s belongs to another attempt", r.MasterContainer)
	case r.Final != yarn.AttemptNew && !r.Final.Final():
		return fmt.Errorf("attempt state %d (%s) is not a final one", r.Final, r.Final)
	case r.FinalStatus > yarn.FinalEnded:
		return fmt.Errorf("final status %d is not known", r.FinalStatus)
	}
	return nil
}
