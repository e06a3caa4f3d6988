package secrets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// The keys of records.
const (
	containerKeys = "container"
	nodeKeys      = "node"
	attemptPrefix = "attempt/"
	startPrefix   = "started/"
)

func (k *Keys) put(key string, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("secrets: %T cannot be written: %v", value, err)) // plain values always can
	}
	k.keep(state.PutPart{Part: Part, Key: key, Value: b})
}

// Restore takes up what an earlier life kept. What cannot be read is returned.
func (k *Keys) Restore(kept map[string][]byte) []error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var bad []error
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if err := k.restoreOne(key, kept[key]); err != nil {
			bad = append(bad, fmt.Errorf("the record %q of keys cannot be used: %w", key, err))
		}
	}
	slices.SortFunc(k.expiries, func(a, b yarn.ContainerID) int {
		return cmp.Or(cmp.Compare(k.started[a], k.started[b]), a.Compare(b))
	})
	return bad
}

func (k *Keys) restoreOne(key string, value []byte) error {
	switch {
	case key == containerKeys:
		return restorePair(value, &k.containers)
	case key == nodeKeys:
		return restorePair(value, &k.nodes)
	case strings.HasPrefix(key, attemptPrefix):
		return k.restoreAttempt(key[len(attemptPrefix):], value)
	case strings.HasPrefix(key, startPrefix):
		return k.restoreStart(key[len(startPrefix):], value)
	}
	return errors.New("nothing is kept under such a name")
}

var errEmpty = errors.New("a key has no bytes")

func restorePair(value []byte, to *pair) error {
	var p pair
	if err := json.Unmarshal(value, &p); err != nil {
		return err
	}
	for _, k := range []*Key{p.Current, p.Previous} {
		if k != nil && len(k.Bytes) == 0 {
			return errEmpty
		}
	}
	*to = p
	return nil
}

func (k *Keys) restoreAttempt(name string, value []byte) error {
	var x Key
	id, err := yarn.ParseAttemptID(name)
	if err == nil {
		err = json.Unmarshal(value, &x)
	}
	if err == nil && len(x.Bytes) == 0 {
		err = errEmpty
	}
	if err == nil {
		k.remembered[id] = x
	}
	return err
}

func (k *Keys) restoreStart(name string, value []byte) error {
	var expires int64
	id, err := yarn.ParseContainerID(name)
	if err == nil {
		err = json.Unmarshal(value, &expires)
	}
	if err == nil {
		k.started[id] = expires
		k.expiries = append(k.expiries, id)
	}
	return err
}
