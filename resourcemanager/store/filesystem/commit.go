package filesystem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// work is what a batch does to files: first the removals, then the writes.
type work struct {
	Epoch  []byte // what EpochNode held
	Start  string `json:",omitempty"` // name of the mark of that start
	Remove []string
	Write  map[string][]byte
}

// owned fails if another start has taken the store over.
func (k *keeper) owned() error {
	now, err := k.readFile(apache.Epoch)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &store.DamagedError{Err: fmt.Errorf("the state store %s was removed: %w", k.where, err)}
	case err != nil:
		return err
	case !bytes.Equal(now, k.epoch): // another start has counted it up
		return fmt.Errorf("%w: %s is not as it was written at this start", store.ErrFenced, k.at(apache.Epoch))
	}
	if _, err := k.sys.Stat(k.at(k.mark())); errors.Is(err, fs.ErrNotExist) { // it has counted to the same
		return fmt.Errorf("%w: the mark of this start, %s, was removed", store.ErrFenced, k.at(k.mark()))
	} else if err != nil {
		return err
	}
	return nil
}

// still is owned where no lock keeps others away. It is asked before each step of a batch, and of a load once that has read the epoch.
func (k *keeper) still() error {
	if k.local || k.epoch == nil {
		return nil
	}
	return k.owned()
}

// mark is the path of what is there as long as this is the last start of ours: on this machine a file; on HDFS the directory in which files are written,
// and into which go those that are removed, so that no step of an earlier start can be made any more once its directory is gone.
func (k *keeper) mark() string { return path.Join(apache.OwnRoot, markPrefix+k.start) }

// staged is the path of a file while it is written.
func (k *keeper) staged(name string) string {
	if k.local {
		return name + unfinished
	}
	return path.Join(k.mark(), path.Base(name)+unfinished)
}

// journal is that of this start, so that one that was taken over removes no other's.
func (k *keeper) journal() string { return path.Join(apache.OwnRoot, journalName+"-"+k.start) }

// commit makes a batch durable.
func (k *keeper) commit(changes []store.Change) error {
	if err := k.owned(); err != nil || len(changes) == 0 {
		return err
	}
	w := work{Epoch: k.epoch, Start: path.Base(k.mark()), Write: map[string][]byte{}}
	for _, c := range changes {
		if err := k.plan(&w, c); err != nil {
			return &store.PoisonError{Index: c.Op, Key: c.Key, Err: err}
		}
	}
	single := len(w.Remove)+len(w.Write) == 1
	if k.journaled && single {
		if err := k.endJournal(); err != nil {
			return err
		}
	}
	if !single {
		if err := k.beginJournal(w); err != nil {
			return err
		}
	}
	if err := k.carryOut(w); err != nil {
		return err
	}
	if !single {
		if err := k.endJournal(); err != nil {
			return err
		}
	}
	for _, c := range changes {
		k.note(c)
	}
	return k.owned() // whoever counts the epoch up from now on reads what was written
}

// plan adds a change to the work.
func (k *keeper) plan(w *work, c store.Change) error {
	switch {
	case c.Prefix:
		return nil // the attempts of an application go with its directory
	case c.Key.Table == state.DelegationSequences:
		k.planSequence(w, c)
		return nil
	case c.Key.Table == state.Applications && c.Value == nil:
		dir := path.Join(apache.Applications, c.Key.Name)
		w.forget(dir)
		w.Remove = append(w.Remove, dir)
		return nil
	}
	at, err := k.place(c.Key, c.Record)
	if err == nil {
		err = checkName(at)
	}
	if err != nil {
		if c.Value == nil { // there cannot be one
			return nil
		}
		return err
	}
	if w.forget(at); c.Value == nil {
		w.Remove = append(w.Remove, at)
	} else {
		w.Write[at] = c.Value
	}
	return nil
}

// planSequence: the number is in the name of a file, and all other such files go.
func (k *keeper) planSequence(w *work, c store.Change) {
	prefix := path.Join(apache.Delegation, sequencePrefix)
	maps.DeleteFunc(w.Write, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
	kept := ""
	if c.Value != nil {
		kept = fmt.Sprint(prefix, c.Record.(state.DelegationSequence).Last)
		w.Write[kept] = []byte{}
	}
	w.Remove = slices.DeleteFunc(w.Remove, func(name string) bool { return name == kept })
	for _, name := range slices.Sorted(maps.Keys(k.sequences)) {
		if name != kept && !slices.Contains(w.Remove, name) {
			w.Remove = append(w.Remove, name)
		}
	}
}

// note keeps in mind what is in the store now.
func (k *keeper) note(c store.Change) {
	switch r := c.Record.(type) {
	case state.DelegationSequence:
		clear(k.sequences)
		if c.Value != nil {
			k.sequences[fmt.Sprint(path.Join(apache.Delegation, sequencePrefix), r.Last)] = true
		}
	case state.Reservation:
		if delete(k.plans, c.Key.Name); c.Value != nil {
			k.plans[c.Key.Name] = r.Plan
		}
	}
}

// forget takes writes of a file, or below a directory, back.
func (w *work) forget(at string) {
	maps.DeleteFunc(w.Write, func(name string, _ []byte) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

// carryOut does the work, durably. It may be done again.
func (k *keeper) carryOut(w work) error {
	dirs := map[string]bool{}
	var gone []string
	for _, name := range w.Remove {
		if strings.HasPrefix(path.Base(name), sequencePrefix) {
			continue // once there is another one
		}
		if k.local && path.Dir(name) == apache.Applications {
			to, err := k.moveOut(name, dirs)
			if err != nil {
				return err
			}
			gone = append(gone, to)
			continue
		}
		if err := k.remove(name, dirs); err != nil {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(w.Write))
	for _, name := range names {
		if err := k.makeDir(path.Dir(name), dirs); err != nil {
			return err
		}
		dirs[path.Dir(name)] = true
	}
	if err := k.each(context.Background(), len(names), func(i int) error { return k.write(names[i], w.Write[names[i]]) }); err != nil {
		return err
	}
	if err := k.syncAll(dirs); err != nil {
		return err
	}
	for _, name := range gone {
		if err := k.sys.Remove(k.at(name)); err != nil {
			return err
		}
	}
	clear(dirs)
	for _, name := range w.Remove {
		if strings.HasPrefix(path.Base(name), sequencePrefix) {
			if err := k.remove(name, dirs); err != nil {
				return err
			}
		}
	}
	return k.syncAll(dirs)
}

// moveOut takes the directory of an application away in one step: with a part of its files Apache would not start. It
// tells where the directory is now, to be removed once that is durable, or by the next load.
func (k *keeper) moveOut(name string, dirs map[string]bool) (to string, err error) {
	to = path.Join(apache.OwnRoot, removedPrefix+path.Base(name))
	if err := k.sys.Remove(k.at(to)); err != nil {
		return "", err
	}
	dirs[apache.Applications] = true
	if err := k.sys.Rename(k.at(name), k.at(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, nil
}

func (k *keeper) remove(name string, dirs map[string]bool) error {
	if err := k.forgetSum(name); err != nil {
		return err
	}
	if _, err := k.sys.Stat(k.at(path.Dir(name))); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := k.still(); err != nil {
		return err
	}
	dirs[path.Dir(name)] = true
	if k.local {
		return k.sys.Remove(k.at(name))
	}
	away := path.Join(k.mark(), removedPrefix+path.Base(name))
	if err := k.sys.Remove(k.at(away)); err != nil {
		return err
	}
	switch err := k.sys.Rename(k.at(name), k.at(away)); {
	case errors.Is(err, fs.ErrNotExist): // one of the two directories, or there is nothing to remove
		return k.still()
	case err != nil:
		return err
	}
	return k.sys.Remove(k.at(away))
}

// makeDir makes a directory, and has that of a new one synced.
func (k *keeper) makeDir(name string, dirs map[string]bool) error {
	if dirs[name] {
		return nil
	}
	_, err := k.sys.Stat(k.at(name))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for at := k.at(name); at != "/"; { // up to the first one that was there
		at = path.Dir(at)
		dirs[k.below(at)] = true
		if _, err := k.sys.Stat(at); err == nil {
			break
		}
	}
	return k.sys.MkdirAll(k.at(name), dirMode)
}

// makeDirs makes directories, durably, and those above them.
func (k *keeper) makeDirs(names ...string) error {
	dirs := map[string]bool{}
	for _, name := range names {
		if err := k.makeDir(name, dirs); err != nil {
			return err
		}
	}
	return k.syncAll(dirs)
}

// below is the path of a directory as seen from the root, which is in it or above it.
func (k *keeper) below(dir string) string {
	out, err := filepath.Rel(k.root, dir)
	if err != nil { // both are absolute
		return "."
	}
	return out
}

func (k *keeper) syncAll(dirs map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if err := k.sync(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write puts a whole file in place of another one. Its directory has to be synced.
func (k *keeper) write(name string, content []byte) error {
	return k.writeAfter(name, content, func() error { return nil })
}

// writeAfter is write, but calls a function when the file is complete, just before it is renamed.
func (k *keeper) writeAfter(name string, content []byte, ready func() error) error {
	staged := k.staged(name)
	w, err := k.sys.Create(k.at(staged), fileMode, true)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = k.sync(staged)
	}
	if err == nil {
		err = k.forgetSum(name)
	}
	if err == nil {
		err = ready()
	}
	if err == nil {
		err = k.still()
	}
	if err == nil {
		err = k.sys.Rename(k.at(staged), k.at(name))
	}
	return err
}

// forgetSum removes the sum that Hadoop keeps beside a local file. A file without one is
// read without being checked; with a wrong one it is refused.
func (k *keeper) forgetSum(name string) error {
	if !k.local {
		return nil
	}
	err := os.Remove(path.Join(k.root, path.Dir(name), "."+path.Base(name)+sums))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}

// sync makes a local file, or the entries of a directory, durable. HDFS makes a file
// durable when it is closed.
func (k *keeper) sync(name string) error {
	if !k.local || k.options.noSync {
		return nil
	}
	f, err := os.Open(k.at(name))
	if err != nil {
		return err
	}
	defer f.Close()
	if k.options.Step != nil {
		return k.options.Step("sync", k.at(name), "")
	}
	return f.Sync()
}

// beginJournal makes the work durable before it is done.
func (k *keeper) beginJournal(w work) error {
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	k.journaled = true
	if err := k.write(k.journal(), append(fmt.Appendf(nil, "%08x\n", crc32.ChecksumIEEE(body)), body...)); err != nil {
		return err
	}
	if err := k.sync(apache.OwnRoot); err != nil {
		return err
	}
	return k.still()
}

func (k *keeper) endJournal() error {
	if err := k.dropJournal(k.journal()); err != nil {
		return err
	}
	k.journaled = false
	return nil
}

func (k *keeper) dropJournal(name string) error {
	if err := k.sys.Remove(k.at(name)); err != nil {
		return err
	}
	return k.sync(apache.OwnRoot)
}

// replay carries out the batch that the last start left unfinished.
func (k *keeper) replay() error {
	list, err := k.sys.List(k.at(apache.OwnRoot), maxEntries)
	if err != nil {
		return err
	}
	var marks []string
	for _, info := range list {
		if strings.HasPrefix(info.Name, markPrefix) {
			marks = append(marks, info.Name)
		}
	}
	for _, info := range list {
		if strings.HasPrefix(info.Name, journalName) && !strings.HasSuffix(info.Name, unfinished) && !info.Dir {
			if err := k.replayOne(path.Join(apache.OwnRoot, info.Name), marks); err != nil {
				return err
			}
		}
	}
	return nil
}

// last reports whether nobody has used the store since the start that left w. Somebody has if the mark of that start is gone, or if the epoch is another one, unless
// starts of ours wrote it and ended before they had removed the mark.
func (k *keeper) last(w *work, marks []string) (bool, error) {
	switch {
	case w.Start != "" && !slices.Contains(marks, w.Start):
		return false, nil
	case k.local:
		return bytes.Equal(w.Epoch, k.epoch), nil
	}
	return k.follows(marks, w.Epoch)
}

// replayOne carries out the batch of one journal, unless somebody has used the store since, and removes the journal.
func (k *keeper) replayOne(journal string, marks []string) error {
	content, err := k.readLimited(journal, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var w work
	sum, body, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) {
		return &store.DamagedError{Err: fmt.Errorf("the journal of the state store %s is damaged: it is not known whether the last changes were made. Move %s away to start without them",
			k.where, k.at(journal))}
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return &store.DamagedError{Err: fmt.Errorf("the journal of the state store %s: %w", k.where, err)}
	}
	last, err := k.last(&w, marks)
	if err != nil {
		return err
	}
	if last {
		for _, name := range append(slices.Collect(maps.Keys(w.Write)), w.Remove...) {
			if !fs.ValidPath(name) || name == "." {
				return &store.DamagedError{Err: fmt.Errorf("the journal of the state store %s names a file %q", k.where, name)}
			}
		}
		if err := k.carryOut(w); err != nil {
			return err
		}
	}
	if err := k.still(); err != nil { // it may be that of who has taken over meanwhile
		return err
	}
	return k.dropJournal(journal)
}
