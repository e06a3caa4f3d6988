package nodemanager

import (
	"context"
	"fmt"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/pb"
	"google.golang.org/protobuf/proto"
)

// prepareLocalizer makes the way to file systems and the pool that fetches from them.
func (d *Daemon) prepareLocalizer() (err error) {
	if d.systems, err = filesystem.New(filesystem.Config{Default: d.settings.Logs.DefaultFS, Property: d.site.Get}); err != nil {
		return fmt.Errorf("cannot reach file systems: %w", err)
	}
	d.fetcher = localize.New(localize.Config{FileSystems: d.systems, Workers: d.settings.Localizer.FetchThreads, KeepOutsideLinks: true,
		Log: d.Log.With("logger", "localize")})
	return nil
}

// localize fetches a resource in the background. done is called once.
func (d *Daemon) localize(ctx context.Context, x engine.Fetch, done func(path string, bytes int64, err error)) {
	r := &pb.LocalResource{}
	err := proto.Unmarshal(x.Resource, r)
	var request localize.Request
	if err == nil {
		request, err = localize.FromWire(r)
	}
	if err == nil {
		err = d.fetcher.Submit(ctx, localize.Job{Request: request, Dest: x.Dir, User: x.User},
			func(got localize.Result, err error) { done(got.Path, got.Bytes, err) })
	}
	if err != nil {
		d.work.Go(func() { done("", 0, err) }) // the caller is the loop's, whose mailbox may be full
	}
}
