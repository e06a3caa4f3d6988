package filesystem

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// Limits of a load.
const (
	maxEntries = 4 << 20                 // of one directory
	maxFile    = 256 << 20               // bytes
	maxJournal = 2 * store.MaxBatchBytes // bytes: a batch in base64, and the names of files
	workers    = 16                      // files at the same time
)

func (k *keeper) at(name string) string { return path.Join(k.root, name) }

// load takes the store over, stores the next epoch and reads all.
func (k *keeper) load(ctx context.Context) (*state.Snapshot, error) {
	if err := k.makeDirs(directories...); err != nil {
		return nil, err
	}
	k.start, k.epoch = rand.Text(), nil
	if !k.local {
		if err := k.makeDirs(k.mark()); err != nil {
			return nil, err
		}
	}
	if err := k.checkVersion(); err != nil {
		return nil, err
	}
	epoch, stored, err := k.readEpoch()
	if err != nil {
		return nil, err
	}
	k.epoch = stored
	if k.local { // nobody else uses the store; on HDFS its last user may still be carrying out a batch, until it sees a higher epoch
		if err := k.replay(); err != nil {
			return nil, err
		}
	}
	next, err := apache.EncodeEpoch(k.options.Epochs.Next(epoch))
	if err != nil {
		return nil, err
	}
	if err := k.writeEpoch(stored, next); err != nil {
		return nil, err
	}
	k.epoch = next
	if err := k.leaveMark(); err != nil {
		return nil, err
	}
	names, err := k.walk(ctx)
	if err != nil {
		return nil, err
	}
	values, err := k.readAll(ctx, names)
	if err != nil {
		return nil, err
	}
	return k.records(epoch, values), k.still()
}

// writeEpoch takes the store over. On HDFS the mark of this start says before that from which epoch to which it counts; once the new epoch's file has been renamed, and so is not in
// the mark any more, it has counted. So if this start dies between writeEpoch and leaveMark, the next one knows that only starts of ours have counted since an unfinished batch.
func (k *keeper) writeEpoch(stored, next []byte) error {
	said := func() error {
		if k.local || stored == nil {
			return nil
		}
		return k.sys.MkdirAll(k.at(path.Join(k.mark(), followsName(stored, next))), dirMode)
	}
	if err := k.writeAfter(apache.Epoch, next, said); err != nil {
		return err
	}
	return k.sync(".")
}

// followsName is the name of a directory in a mark; it says which epoch the start found and which it writes.
func followsName(before, after []byte) string {
	return fmt.Sprintf("%s%x-%x", followsPrefix, before, after)
}

// follows reports, from the marks, whether only starts of ours have counted from the given epoch up to k.epoch.
func (k *keeper) follows(marks []string, epoch []byte) (bool, error) {
	next := map[string][]string{}
	for _, mark := range marks {
		list, err := k.sys.List(k.at(path.Join(apache.OwnRoot, mark)), maxEntries)
		if errors.Is(err, fs.ErrNotExist) { // another start, which has taken the store over, has removed the mark
			continue
		}
		if err != nil {
			return false, err
		}
		before, after, happened := "", "", true
		for _, info := range list {
			if pair, ok := strings.CutPrefix(info.Name, followsPrefix); ok {
				before, after, _ = strings.Cut(pair, "-")
			}
			happened = happened && info.Name != path.Base(apache.Epoch)+unfinished
		}
		if happened && before != "" {
			next[before] = append(next[before], after)
		}
	}
	to, seen := fmt.Sprintf("%x", k.epoch), map[string]bool{}
	for all := []string{fmt.Sprintf("%x", epoch)}; len(all) > 0; all = all[1:] {
		if all[0] == to {
			return true, nil
		}
		if !seen[all[0]] {
			seen[all[0]] = true
			all = append(all, next[all[0]]...)
		}
	}
	return false, nil
}

// leaveMark makes the mark of this start the only one. On HDFS it first carries out the batch that the last user of the store may have been in the middle of, and
// cannot go on with once it sees the epoch.
func (k *keeper) leaveMark() error {
	if !k.local {
		if err := k.replay(); err != nil {
			return err
		}
	}
	if k.local {
		if err := k.write(k.mark(), []byte{}); err != nil {
			return err
		}
	}
	list, err := k.sys.List(k.at(apache.OwnRoot), maxEntries)
	if err != nil {
		return err
	}
	for _, info := range list {
		if strings.HasPrefix(info.Name, markPrefix) && info.Name != path.Base(k.mark()) {
			if err := k.remove(path.Join(apache.OwnRoot, info.Name), map[string]bool{}); err != nil {
				return err
			}
		}
	}
	return k.sync(apache.OwnRoot)
}

func (k *keeper) checkVersion() error {
	ours, err := apache.EncodeVersion(Major, Minor)
	if err != nil {
		return err
	}
	found, err := k.readFile(apache.Version)
	switch {
	case err == nil && bytes.Equal(found, ours):
		return nil
	case err == nil:
		if err := apache.CheckVersion(found, Major, Minor); err != nil {
			return &versionError{fmt.Errorf("the state store %s: %w", k.where, err)}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return k.write(apache.Version, ours)
}

// readEpoch is the epoch of this start, and what is stored of it.
func (k *keeper) readEpoch() (epoch int64, stored []byte, err error) {
	stored, err = k.readFile(apache.Epoch)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.options.Epochs.Base, nil, nil
	case err != nil:
		return 0, nil, err
	}
	if epoch, err = apache.NextEpoch(stored, k.options.Epochs); err != nil {
		return 0, nil, &versionError{fmt.Errorf("the state store %s: %w", k.where, err)}
	}
	return epoch, stored, nil
}

func (k *keeper) readFile(name string) ([]byte, error) { return k.readLimited(name, maxFile) }

func (k *keeper) readLimited(name string, limit int) ([]byte, error) {
	r, err := k.sys.Open(k.at(name))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = &fs.PathError{Op: "read", Path: k.at(name), Err: fmt.Errorf("more than %d bytes", limit)}
	}
	return b, err
}

// walk lists all files. What was being written is removed; what was about to take the
// place of a file does so.
func (k *keeper) walk(ctx context.Context) (names []string, err error) {
	k.sequences, k.plans = map[string]bool{}, map[string]string{}
	for level := slices.Clone(directories); len(level) > 0; {
		found := make([][]filesystem.Info, len(level))
		err := k.each(ctx, len(level), func(i int) (err error) {
			found[i], err = k.sys.List(k.at(level[i]), maxEntries)
			return err
		})
		if err != nil {
			return nil, err
		}
		var next []string
		for i, list := range found {
			for _, info := range list {
				name := path.Join(level[i], info.Name)
				if level[i] == apache.OwnRoot && strings.HasPrefix(info.Name, removedPrefix) {
					if err := k.remove(name, map[string]bool{}); err != nil {
						return nil, err
					}
					continue
				}
				if info.Dir {
					if level[i] == apache.OwnRoot && strings.HasPrefix(info.Name, markPrefix) { // of this start, or of one that comes next
						continue
					}
					if strings.Count(name, "/") < 3 {
						next = append(next, name)
					}
					continue
				}
				if name, err = k.settle(name); err != nil {
					return nil, err
				}
				names = append(names, name)
			}
		}
		level = next
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// settle ends what was being done with a file, and tells its name then; "" if it is none.
func (k *keeper) settle(name string) (string, error) {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(base, ".") && strings.HasSuffix(base, sums):
		return "", nil
	case strings.HasSuffix(base, unfinished):
		return "", k.remove(name, map[string]bool{})
	case strings.HasSuffix(base, replacing):
		to := strings.TrimSuffix(name, replacing)
		if err := k.forgetSum(to); err != nil {
			return "", err
		}
		if err := k.still(); err != nil {
			return "", err
		}
		if err := k.sys.Rename(k.at(name), k.at(to)); err != nil {
			return "", err
		}
		return to, k.sync(path.Dir(to))
	}
	return name, nil
}

// readAll reads files. Those that are gone meanwhile are left out.
func (k *keeper) readAll(ctx context.Context, names []string) (map[string][]byte, error) {
	contents := make([][]byte, len(names))
	err := k.each(ctx, len(names), func(i int) (err error) {
		if names[i] == "" || path.Dir(names[i]) == apache.OwnRoot || strings.HasPrefix(path.Base(names[i]), sequencePrefix) {
			return nil
		}
		contents[i], err = k.readFile(names[i])
		return err
	})
	values := map[string][]byte{}
	for i, name := range names {
		if name != "" {
			values[name] = contents[i]
		}
	}
	return values, err
}

// each does n things, on this machine some at the same time, until one fails.
func (k *keeper) each(ctx context.Context, n int, do func(i int) error) error {
	many := 1 // a connection to HDFS is for one user at a time
	if k.local && k.options.Step == nil {
		many = workers
	}
	errs := make([]error, many)
	var all sync.WaitGroup
	for w := range min(many, n) {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += many {
				if errs[w] = do(i); errs[w] == nil && ctx.Err() != nil {
					errs[w] = context.Cause(ctx)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// records makes records of what was read.
func (k *keeper) records(epoch int64, values map[string][]byte) *state.Snapshot {
	r := k.options.Reader(epoch)
	last := int64(-1)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if digits, ok := strings.CutPrefix(name, path.Join(apache.Delegation, sequencePrefix)); ok {
			k.sequences[name] = true
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil {
				r.Quarantine(state.DelegationSequence{}.Key(), fmt.Sprintf("its file is called %s", path.Base(name)))
				continue
			}
			last = max(last, n)
			continue
		}
		key, holds, err := identify(name)
		switch {
		case !holds:
		case err != nil:
			r.Quarantine(key, err.Error())
		case key.Table == state.Reservations:
			plan := path.Base(path.Dir(name))
			k.plans[key.Name] = plan
			r.Add(key, apache.WithPlan(values[name], plan))
		default:
			r.Add(key, values[name])
		}
	}
	if last >= 0 {
		value, _ := k.options.Codec.Encode(state.DelegationSequence{Last: int32(last)})
		r.Add(state.DelegationSequence{}.Key(), value)
	}
	snapshot := r.Snapshot()
	apache.Settle(snapshot)
	return snapshot
}

var _ store.Store = (*keeper)(nil)
