package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
)

// maxFiles bounds the files of a job, the binary included.
const maxFiles = 100

// Source is a file of this machine that a container is to have.
type Source struct {
	Path string
	Name string // in the container's work directory
}

// ParseSource reads LOCAL[#NAME]. NAME is that of the file if it is left out.
func ParseSource(text string) (Source, error) {
	file, name, named := strings.Cut(text, "#")
	if !named {
		name = filepath.Base(file)
	}
	switch {
	case file == "":
		return Source{}, fmt.Errorf("-file %s: want LOCAL or LOCAL#NAME", text)
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\"$`\x00\n") || taken(name):
		return Source{}, fmt.Errorf("-file %s: a container cannot have a file named %q", text, name)
	}
	return Source{file, name}, nil
}

// taken are names that the node itself uses in a work directory.
func taken(name string) bool {
	switch name {
	case "tmp", "container_tokens", "launch_container.sh", "default_container_executor.sh", "default_container_executor_session.sh", "sysfs":
		return true
	}
	return false
}

// Staged are files where nodes find them.
type Staged struct {
	Files map[string]client.File // by name
	// Dir is the URL of the directory that was made for them, or "" if they
	// stayed where they were.
	Dir string
}

// Stage puts files where nodes find them. On a default file system of file: they
// stay where they are and nodes read them by the same path, so each node has to
// have them there: on one machine, or in a directory that all share. On hdfs: they
// are copied below base, which is the user's home if empty; a base given is used
// in either case. directory is the name of the new directory there.
func Stage(ctx context.Context, props *conf.Properties, user, base, directory string, sources []Source) (*Staged, error) {
	if len(sources) > maxFiles {
		return nil, fmt.Errorf("%d files: it can be %d, put them into an archive", len(sources), maxFiles)
	}
	systems, root, err := systems(props, base)
	if err != nil {
		return nil, err
	}
	out := &Staged{Files: map[string]client.File{}}
	for _, s := range sources {
		if _, twice := out.Files[s.Name]; twice {
			return nil, fmt.Errorf("two files are to be named %s: give one another name with #NAME", s.Name)
		}
		if out.Files[s.Name], err = inPlace(s.Path); err != nil {
			return nil, err
		}
	}
	if base == "" && strings.EqualFold(root.Scheme, "file") {
		return out, nil
	}
	if base == "" {
		root = root.At("/user/" + user + "/.yarn-shell")
	}
	dir := root.At(path.Join(root.Path, directory))
	out.Dir = dir.String()
	for _, s := range sources {
		if out.Files[s.Name], err = upload(ctx, systems, user, s, dir); err != nil {
			_ = Unstage(ctx, props, user, out.Dir) // what has been copied; the reason is the same
			return nil, fmt.Errorf("copying %s to %s, where the nodes are to find it: %w (-staging names another place)", s.Path, dir, err)
		}
	}
	return out, nil
}

// systems are the file systems of a configuration, and base, or the root of the
// default one.
func systems(props *conf.Properties, base string) (*filesystem.Systems, filesystem.URL, error) {
	s, err := filesystem.New(filesystem.Config{Default: props.Get("fs.defaultFS"), Property: props.Get, Site: props.HDFSSite()})
	if err != nil {
		return nil, filesystem.URL{}, err
	}
	if base == "" {
		base = "/"
	}
	u, err := filesystem.ParseURL(base)
	if err != nil {
		return nil, u, err
	}
	u = s.Resolve(u)
	switch strings.ToLower(u.Scheme) {
	case "file", "hdfs":
		return s, u, nil
	}
	return nil, u, fmt.Errorf("files cannot be put on %s: only on file: and hdfs: (fs.defaultFS, or -staging)", u)
}

// inPlace is a file as nodes find it by its path.
func inPlace(name string) (client.File, error) {
	abs, err := filepath.Abs(name)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(abs)
	}
	switch {
	case err != nil:
		return client.File{}, fmt.Errorf("a file for the containers: %s: %w", name, err)
	case !info.Mode().IsRegular():
		return client.File{}, fmt.Errorf("a file for the containers: %s is not a regular file", abs)
	}
	return client.File{Scheme: "file", Path: abs, Port: -1, Size: info.Size(), Timestamp: info.ModTime().UnixMilli(),
		Type: client.PlainFile, Visibility: client.Private}, nil
}

// upload copies a file. On hdfs: nobody but its owner has access, as whom nodes
// read it; on file: nodes read it as whoever they run as.
func upload(ctx context.Context, systems *filesystem.Systems, user string, s Source, dir filesystem.URL) (file client.File, err error) {
	system, err := systems.Connect(ctx, dir, user)
	if err != nil {
		return file, err
	}
	defer func() { err = errors.Join(err, system.Close()) }()
	mode := fs.FileMode(0o700)
	if strings.EqualFold(dir.Scheme, "file") {
		mode = 0o755
	}
	if err := system.MkdirAll(path.Dir(dir.Path), 0o755); err != nil {
		return file, err
	}
	if err := system.MkdirAll(dir.Path, mode); err != nil {
		return file, err
	}
	in, err := os.Open(s.Path)
	if err != nil {
		return file, err
	}
	defer in.Close()
	target := path.Join(dir.Path, s.Name)
	out, err := system.Create(target, mode, false)
	if err != nil {
		return file, err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return file, err
	}
	info, err := system.Stat(target)
	if err != nil {
		return file, err
	}
	host, port := authority(dir.Authority)
	return client.File{Scheme: strings.ToLower(dir.Scheme), Host: host, Port: port, Path: target, Size: info.Size, Timestamp: info.ModTime,
		Type: client.PlainFile, Visibility: client.ApplicationOnly}, nil
}

// authority splits host:port; the port of a name service is -1.
func authority(text string) (host string, port int32) {
	host, number, ok := strings.Cut(text, ":")
	if n, err := strconv.ParseUint(number, 10, 16); ok && err == nil {
		return host, int32(n)
	}
	return host, -1
}

// Unstage removes what Stage has made; "" is nothing.
func Unstage(ctx context.Context, props *conf.Properties, user, dir string) (err error) {
	if dir == "" {
		return nil
	}
	systems, u, err := systems(props, dir)
	if err != nil {
		return err
	}
	system, err := systems.Connect(ctx, u, user)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, system.Close()) }()
	if err := system.Remove(u.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}
