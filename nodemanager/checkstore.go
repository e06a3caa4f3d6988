package nodemanager

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/nodemanager/store"
)

// CheckStore reads what a start would load, and says on out what is damaged. It changes nothing. whole tells that nothing is.
func CheckStore(o Options, out io.Writer) (whole bool, err error) {
	return lookAfterStore(o, out, store.Check)
}

// RepairStore sets a damaged file aside, keeps what can be read of it and says on out what is lost.
func RepairStore(o Options, out io.Writer) error {
	_, err := lookAfterStore(o, out, func(dir string) (*sealed.Report, error) { return store.Repair(dir, time.Now()) })
	return err
}

func lookAfterStore(o Options, out io.Writer, look func(dir string) (*sealed.Report, error)) (whole bool, err error) {
	site, err := o.Load()
	if err != nil {
		return false, err
	}
	s, err := conf.ReadNodeManager(site)
	if err != nil {
		return false, err
	}
	if !s.Recovery.Enabled {
		return false, errors.New("nothing is kept: yarn.nodemanager.recovery.enabled is not set")
	}
	report, err := look(s.Recovery.Dir)
	if err != nil {
		return false, fmt.Errorf("the recovery store (yarn.nodemanager.recovery.dir): %w", err)
	}
	report.Print(out, "recovery store")
	return report.Damage == nil, nil
}
