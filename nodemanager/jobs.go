package nodemanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/nodemanager/shuffle"
	"github.com/heddle-project/heddle/nodemanager/state"
)

// shufflePart is the name under which the shuffle's jobs are kept for the next life.
const shufflePart = "shuffle"

func encodeJob(j shuffle.Job) []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(fmt.Sprintf("a job of the shuffle cannot be written: %v", err)) // plain values always can
	}
	return b
}

// restoreServices gives the shuffle the jobs of the last life.
func (d *Daemon) restoreServices(s *state.Snapshot) error {
	kept := s.Parts[shufflePart]
	if d.services.shuffle == nil || len(kept) == 0 {
		return nil
	}
	var jobs []shuffle.Job
	var bad []error
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		var j shuffle.Job
		if err := json.Unmarshal(kept[key], &j); err != nil {
			bad = append(bad, fmt.Errorf("the record of %s: %w", key, err))
			continue
		}
		jobs = append(jobs, j)
	}
	return errors.Join(append(bad, d.services.shuffle.Restore(jobs))...)
}
