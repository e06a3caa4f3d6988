package logserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of one round.
const (
	maxUserDirs    = 100       // directories of one user that begin as those of collected logs
	maxBuckets     = 10_000    // below each
	maxApps        = 1_000_000 // below each bucket
	roundPatience  = 6 * time.Hour
	answerPatience = time.Minute // for the ResourceManager's word on one application
)

// sweepAlways deletes what is too old at once and at every interval, until ctx ends.
func (d *Daemon) sweepAlways(ctx context.Context) {
	r := d.settings.Retention
	d.Log.Info("collected logs are deleted when they are too old", "after", r.Retain, "looking every", r.Check)
	tick := time.NewTicker(r.Check)
	defer tick.Stop()
	for ctx.Err() == nil {
		d.sweepAll(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (d *Daemon) sweepAll(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, roundPatience, fmt.Errorf("a round takes at most %v", roundPatience))
	defer cancel()
	seen := map[filesystem.URL]bool{}
	for _, l := range d.layouts {
		if seen[l.Root] {
			continue
		}
		seen[l.Root] = true
		files, err := d.connect(ctx, l.Root)
		if err != nil {
			d.Log.Warn("collected logs that are too old cannot be deleted", "directory", l.Root, "error", err)
			continue
		}
		s := sweeper{files: files, root: l.Root, cutoff: time.Now().Add(-d.settings.Retention.Retain).UnixMilli(), ended: d.ended, log: d.Log}
		s.sweep(ctx)
		if err := files.Close(); err != nil {
			d.Log.Warn("the connection did not end as it should", "directory", l.Root, "error", err)
		}
	}
}

// ended tells whether an application has ended, or nobody knows of it any more.
func (d *Daemon) ended(ctx context.Context, id yarn.ApplicationID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	a, err := d.rm.Application(ctx, id)
	if client.Is(err, client.ClassApplicationNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return a.State == yarn.PublicFinished || a.State == yarn.PublicFailed || a.State == yarn.PublicKilled, nil
}

// sweeper deletes what is too old below one root.
//
// compat: as Hadoop's AggregatedLogDeletionService, an application's directory goes once it and all
// files in it are older than the cutoff and the application has ended; of a running one the older files
// go. Hadoop follows symbolic links below the root, and deletes what they lead to; here they are left.
type sweeper struct {
	files   filesystem.FileSystem
	root    filesystem.URL
	cutoff  int64 // milliseconds since 1970
	ended   func(context.Context, yarn.ApplicationID) (bool, error)
	log     *slog.Logger
	deleted int
}

// unanswered is the ResourceManager's silence, which ends a round.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

func (s *sweeper) sweep(ctx context.Context) {
	for dir := range s.applications(ctx) {
		if ctx.Err() != nil {
			s.log.Warn("a round of deleting collected logs has been broken off", "directory", s.root, "error", context.Cause(ctx))
			break
		}
		err := s.application(ctx, dir)
		var nobody unanswered
		if errors.As(err, &nobody) {
			s.log.Warn("collected logs that are too old stay until the ResourceManager answers", "directory", s.root.At(dir), "error", err)
			break
		}
		if err != nil {
			s.log.Warn("collected logs that are too old stay", "directory", s.root.At(dir), "error", err)
		}
	}
	s.log.Info("collected logs have been looked through", "directory", s.root, "deleted", s.deleted)
}

// applications walks the directories of all applications: root/USER/bucket-SUFFIX/NUMBER/APPLICATION.
func (s *sweeper) applications(ctx context.Context) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, user := range s.dirs(ctx, s.root.Path, aggregated.MaxUsers, nil) {
			for _, kind := range s.dirs(ctx, user, maxUserDirs, func(name string) bool { return strings.HasPrefix(name, "bucket-") }) {
				for _, bucket := range s.dirs(ctx, kind, maxBuckets, nil) {
					for _, app := range s.dirs(ctx, bucket, maxApps, isApplication) {
						if !yield(app) {
							return
						}
					}
				}
			}
		}
	}
}

func isApplication(name string) bool {
	id, err := yarn.ParseApplicationID(name)
	return err == nil && id.String() == name
}

// dirs are the directories in a directory that is no symbolic link; nil is all names. What cannot be
// listed is told and passed over.
func (s *sweeper) dirs(ctx context.Context, dir string, limit int, want func(string) bool) (out []string) {
	if ctx.Err() != nil {
		return nil
	}
	all, err := s.files.List(dir, limit)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("a directory of collected logs cannot be listed, so nothing in it is deleted", "directory", s.root.At(dir), "error", err)
		}
		return nil
	}
	for _, i := range all {
		if i.Dir && !i.Link && (want == nil || want(i.Name)) {
			out = append(out, path.Join(dir, i.Name))
		}
	}
	return out
}

// application deletes what is too old of an application.
func (s *sweeper) application(ctx context.Context, dir string) error {
	info, err := s.files.Stat(dir)
	if err != nil || info.ModTime >= s.cutoff {
		return err
	}
	all, err := s.files.List(dir, aggregated.MaxNodes)
	if err != nil {
		return err
	}
	var old []string
	for _, i := range all {
		if i.ModTime < s.cutoff || i.Link { // what is removed is the link
			old = append(old, path.Join(dir, i.Name))
		}
	}
	if len(all) > 0 && len(old) == 0 {
		return nil
	}
	id, err := yarn.ParseApplicationID(path.Base(dir))
	if err != nil {
		return err
	}
	ended, err := s.ended(ctx, id)
	if err != nil {
		return unanswered{fmt.Errorf("whether %s has ended is not known: %w", id, err)}
	}
	if ended && len(old) < len(all) {
		return nil
	}
	if ended {
		old = []string{dir}
	}
	for _, file := range old {
		if err := s.remove(file); err != nil {
			return err
		}
		s.log.Info("collected logs were too old and have been deleted", "path", s.root.At(file), "application ended", ended)
		s.deleted++
	}
	return nil
}

// remove removes a file or directory below the root.
func (s *sweeper) remove(file string) error {
	if f, ok := s.files.(filesystem.BelowRemover); ok {
		return f.RemoveBelow(s.root.Path, strings.Split(strings.TrimPrefix(strings.TrimPrefix(file, s.root.Path), "/"), "/"))
	}
	return s.files.Remove(file)
}
