package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
)

// RecoverQuorum makes this ResourceManager's copy of the replicated state store the whole store, once most of the others have lost theirs. It refuses while another
// one answers.
func RecoverQuorum(o Options, out io.Writer) error {
	p := &process{Options: o}
	site, err := o.Load()
	if err != nil {
		return err
	}
	p.site = site
	if p.settings, err = p.readSettings(site); err != nil {
		return err
	}
	if !p.settings.HA.Raft.Enabled {
		return errors.New("there is no quorum to recover: yarn.resourcemanager.store.class is not heddle.raft, or neither yarn.resourcemanager.recovery.enabled nor yarn.resourcemanager.ha.enabled is set")
	}
	c := memberConfig(p.settings)
	c.Log = o.Log
	r, err := replica.Recover(context.Background(), c, func(t replica.Reader) ([]replica.Change, error) { return raft.SkipEpochs(t, state.Epochs{}) })
	switch {
	case isMissing(err):
		return fmt.Errorf("%s (%s) has no copy of the state store: run this where one is left", c.Dir, raftPath)
	case err != nil:
		return fmt.Errorf("cannot make the state store of the copy in %s (%s): %w", c.Dir, raftPath, err)
	}
	fmt.Fprintf(out, "the copy of %s is the state store now, up to entry %d of term %d; what was acknowledged after that is lost. Its members were %s\n"+
		"start %s first; empty %s of %s, or run -format-state-store there, before they start: they get everything, and a vote\n",
		c.Name, r.Entry, r.Term, strings.Join(r.Were, ","), c.Name, raftPath, strings.Join(others(c), " and "))
	return nil
}

// others are the ids of the other members.
func others(c replica.Config) (out []string) {
	for name := range c.Members {
		if name != c.Name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
