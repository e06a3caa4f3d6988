package filesystem

import (
	"fmt"
	"path"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/yarn"
)

// Names that only this layout has.
const (
	sequencePrefix = "RMDTSequenceNumber_"
	amrmName       = "AMRMTokenSecretManagerNode"
	journalName    = "journal" // and that of a start
	markPrefix     = "start-"
	followsPrefix  = "epoch-" // in a mark
	lockName       = "lock"
	removedPrefix  = "removed-"                 // a directory that was an application's
	unfinished     = ".tmp"                     // being written
	replacing      = ".new"                     // Hadoop's: whole, and about to take the place of the file without it
	sums           = ".crc"                     // Hadoop's, of .NAME.crc
	maxName        = 255 - len(".") - len(sums) // bytes of a file's name, so that the longest of those beside it can be made
)

var directories = []string{apache.Applications, apache.Delegation, apache.AMRM, apache.Reservations, apache.ProxyCA, apache.OwnRoot}

// checkName is an error if no file can have that path below the root.
func checkName(at string) error {
	for part := range strings.SplitSeq(at, "/") {
		if len(part) > maxName {
			return fmt.Errorf("the name of its file has %d bytes, at most %d can be stored", len(part), maxName)
		}
	}
	if strings.ContainsRune(at, 0) {
		return fmt.Errorf("%q cannot be the name of a file", at)
	}
	return nil
}

// place is the path of a record's file below the root. A sequence number has none.
func (k *keeper) place(key state.Key, r state.Record) (string, error) {
	switch key.Table {
	case state.Applications:
		return path.Join(apache.Applications, key.Name, key.Name), nil
	case state.Attempts:
		id, err := yarn.ParseAttemptID(key.Name)
		return path.Join(apache.Applications, id.Application.String(), key.Name), err
	case state.AMRMKeys:
		return path.Join(apache.AMRM, amrmName), nil
	case state.DelegationKeys:
		return path.Join(apache.Delegation, apache.KeyPrefix+key.Name), nil
	case state.DelegationTokens:
		return path.Join(apache.Delegation, apache.TokenPrefix+key.Name), nil
	case state.Reservations:
		plan := k.plans[key.Name]
		if x, ok := r.(state.Reservation); ok && plan == "" {
			plan = x.Plan
		}
		if strings.ContainsRune(plan, '/') || plan == "." || plan == ".." {
			return "", fmt.Errorf("%q cannot be the name of a directory", plan)
		}
		return path.Join(apache.Reservations, plan, key.Name), nil
	}
	name := apache.OwnName(key)
	if !k.local { // HDFS takes no colon; the way back is the same
		name = strings.ReplaceAll(name, ":", "%3A")
	}
	return path.Join(apache.OwnRoot, string(key.Table), name), nil
}

// identify is the record that a file holds. An error is the reason to quarantine it.
func identify(at string) (key state.Key, holds bool, err error) {
	parts := strings.Split(at, "/")
	name := parts[len(parts)-1]
	switch {
	case parts[0] == apache.Applications && len(parts) == 3:
		if name == parts[1] {
			_, err = yarn.ParseApplicationID(name)
			return state.Key{Table: state.Applications, Name: name}, true, err
		}
		key = state.Key{Table: state.Attempts, Name: name}
		id, err := yarn.ParseAttemptID(name)
		if err == nil && id.Application.String() != parts[1] {
			err = fmt.Errorf("it is in the directory of %s", parts[1])
		}
		return key, true, err
	case parts[0] == apache.Delegation && len(parts) == 2:
		return apache.DelegationRecord(name)
	case at == path.Join(apache.AMRM, amrmName):
		return state.MasterKeys{}.Key(), true, nil
	case parts[0] == apache.Reservations && len(parts) == 3:
		return state.Key{Table: state.Reservations, Name: name}, true, nil
	case parts[0] == apache.OwnRoot && len(parts) == 3:
		key, holds = apache.OwnKey(parts[1], name)
		return key, holds, nil
	}
	return key, false, nil
}
