package apache

import (
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// EncodeVersion is a store's version record.
func EncodeVersion(major, minor int32) ([]byte, error) {
	return marshal(&pb.Version{MajorVersion: &major, MinorVersion: &minor}, nil)
}

// CheckVersion tells whether a store of that version can be used. Hadoop goes on with any of the same major version, and writes its own over it.
func CheckVersion(value []byte, major, minor int32) error {
	m := &pb.Version{}
	if err := unmarshal(value, m); err != nil {
		return fmt.Errorf("its version cannot be read: %w", err)
	}
	if m.GetMajorVersion() != major {
		return fmt.Errorf("its version is %d.%d, this program reads %d.x, and writes %d.%d: use the program that wrote it",
			m.GetMajorVersion(), m.GetMinorVersion(), major, major, minor)
	}
	return nil
}

// EncodeEpoch is the record of the epoch of the next start.
func EncodeEpoch(epoch int64) ([]byte, error) { return marshal(&pb.StoredEpoch{Epoch: &epoch}, nil) }

// NextEpoch reads the epoch of this start. A number out of the configured range begins
// at its base again, as with Hadoop.
func NextEpoch(value []byte, epochs state.Epochs) (int64, error) {
	m := &pb.StoredEpoch{}
	if err := unmarshal(value, m); err != nil {
		return 0, fmt.Errorf("its epoch cannot be read: %w", err)
	}
	if epoch := m.GetEpoch(); epochs.Valid(epoch) {
		return epoch, nil
	}
	return 0, fmt.Errorf("epoch %d is not in the configured range that begins at %d (yarn.resourcemanager.epoch)", m.GetEpoch(), epochs.Base)
}

// Settle fills in what Hadoop does not store of an application: how it judged its end is told by its last attempt. Attempts are in order.
func Settle(s *state.Snapshot) {
	last := map[yarn.ApplicationID]yarn.FinalStatus{}
	for _, t := range s.Attempts {
		last[t.ID.Application] = t.FinalStatus
	}
	for _, a := range s.Applications {
		if a.Final == yarn.AppNew || a.FinalStatus != yarn.FinalUndefined {
			continue
		}
		switch status := last[a.ID]; {
		case status != yarn.FinalUndefined:
			a.FinalStatus = status
		case a.Final == yarn.AppKilled:
			a.FinalStatus = yarn.FinalKilled
		default:
			a.FinalStatus = yarn.FinalFailed
		}
	}
}
