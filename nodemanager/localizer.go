package nodemanager

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/nodemanager/localize/java"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// maxLocalizers bounds the processes of Hadoop's localizer. Each may have its heap
// (yarn.nodemanager.container-localizer.java.opts) beside what containers have.
const maxLocalizers = 8

// prepareLocalizer makes the ways to file systems, our own and by way of Java, and the pool that fetches from them.
func (d *Daemon) prepareLocalizer() (err error) {
	s := &d.settings.Localizer
	if d.systems, err = filesystem.New(filesystem.Config{Default: d.settings.Logs.DefaultFS, Property: d.site.Get, Site: d.site.HDFSSite(),
		Waiting: func(text string) { d.Log.Warn("waiting for HDFS", "why", text) }}); err != nil {
		return fmt.Errorf("cannot reach file systems: %w", err)
	}
	d.java = java.New(java.Config{Environ: d.Environ, Conf: d.hadoopConf, Address: d.localizerAddress, User: d.User, Dirs: d.localizerDirs,
		Options: s.JavaOptions, Exports: s.JavaExports, LogLevel: s.JavaLog, Processes: maxLocalizers, Log: d.Log.With("logger", "localizer")})
	d.fetcher = localize.New(localize.Config{FileSystems: d.systems, Workers: s.FetchThreads, KeepOutsideLinks: true, Foreign: d.java,
		Log: d.Log.With("logger", "localize")})
	d.sayForeign()
	return nil
}

// sayForeign logs how resources are fetched if only Java can read the cluster's default file system.
func (d *Daemon) sayForeign() {
	home := d.systems.Resolve(filesystem.URL{Path: "/"})
	if d.systems.Serves(home) {
		return
	}
	if _, err := java.Find(d.variable, d.hadoopConf()); err != nil {
		d.Log.Warn("containers whose resources lie on the default file system will fail: Hadoop's own localizer has to fetch these, and it cannot be run; "+
			"set what is missing and restart the NodeManager", "fs.defaultFS", home, "why", err)
		return
	}
	d.Log.Info("Hadoop's own localizer fetches resources from the default file system; its connector must be on the class path (yarn classpath)", "fs.defaultFS", home)
}

// variable is one of the daemon's environment.
func (d *Daemon) variable(name string) string {
	for _, entry := range d.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// hadoopConf is where Hadoop's programs find their configuration; "" if nobody knows.
func (d *Daemon) hadoopConf() string {
	dir := cmp.Or(d.Dir, d.variable("HADOOP_CONF_DIR"))
	if dir == "" {
		return ""
	}
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return dir
}

// localizerAddress is the localizer port as this machine reaches it.
func (d *Daemon) localizerAddress() string {
	host := d.localizers.IP
	if host.IsUnspecified() {
		host = net.IPv4(127, 0, 0, 1)
	}
	return net.JoinHostPort(host.String(), strconv.Itoa(d.localizers.Port))
}

// temporary marks the directories of localizers for PUBLIC resources, which must not use those of users.
const temporary = ".localizer"

// localizerDirs makes the directories in which a localizer works: those of the application, which it knows, or for PUBLIC
// resources one of its own.
func (d *Daemon) localizerDirs(j localize.Job) (java.Dirs, error) {
	state := d.health.State()
	if len(state.Local.Good) == 0 || len(state.Log.Good) == 0 {
		return java.Dirs{}, fmt.Errorf("no disk is good: %s", state.Report)
	}
	out := java.Dirs{Log: engine.LogDir(state.Log.Good[0], j.Container)}
	if err := d.launcher.MakeLogDir(out.Log); err != nil {
		return java.Dirs{}, err
	}
	if j.Request.Visibility == localize.Public {
		work, err := os.MkdirTemp(filepath.Join(state.Local.Good[0], "nmPrivate"), j.Container.String()+"-*"+temporary)
		if err == nil {
			err = makeUserDirs(work, d.User, j.Container.Attempt.Application)
		}
		out.Local, out.Work, out.Temporary = []string{work}, work, true
		return out, err
	}
	out.Local = state.Local.Good
	for _, local := range out.Local {
		if err := makeUserDirs(local, j.User, j.Container.Attempt.Application); err != nil {
			return java.Dirs{}, err
		}
	}
	out.Work = engine.ApplicationDir(out.Local[0], j.User, j.Container.Attempt.Application)
	return out, nil
}

// makeUserDirs makes the directories that a localizer takes to be there.
func makeUserDirs(local, user string, app yarn.ApplicationID) error {
	for _, dir := range []string{filepath.Join(engine.UserDir(local, user), "filecache"), engine.ApplicationDir(local, user, app)} {
		if err := localize.MakeLevels(dir, localize.Private); err != nil {
			return err
		}
	}
	return nil
}

// localize fetches a resource in the background. done is called once.
func (d *Daemon) localize(ctx context.Context, x engine.Fetch, done func(path string, bytes int64, err error)) {
	job := localize.Job{Dest: x.Dir, User: x.User, Resource: &pb.LocalResource{}, Container: x.Container}
	launch := &pb.ContainerLaunchContext{}
	err := proto.Unmarshal(x.Resource, job.Resource)
	if err == nil {
		job.Request, err = localize.FromWire(job.Resource)
	}
	if err == nil && !d.systems.Serves(job.Request.URL) {
		err = proto.Unmarshal(x.Launch, launch)
		job.Tokens = launch.GetTokens()
	}
	if err == nil {
		err = d.fetcher.Submit(ctx, job, func(got localize.Result, err error) { done(got.Path, got.Bytes, err) })
	}
	if err != nil {
		d.work.Go(func() { done("", 0, err) }) // the caller is the loop's, whose mailbox may be full
	}
}
