package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
)

// The modes of directories on the remote file system: each user can have a
// directory and cannot read those of others.
const (
	rootMode  = 0o777 | fs.ModeSticky
	aboveMode = 0o755 // of what is missing above the root
	dirMode   = 0o770
	fileMode  = 0o640
	modeToSee = fs.ModePerm | fs.ModeSticky
)

// makeRoot creates the directory of all aggregated logs if it is missing, as
// the daemon's own user.
func (u *Uploader) makeRoot(ctx context.Context) error {
	root := u.cfg.Layout.Root
	files, err := u.cfg.Systems.Connect(ctx, root, u.cfg.User)
	if err != nil {
		return err
	}
	defer files.Close()
	info, err := files.Stat(root.Path)
	if err == nil {
		if mode := info.Mode & modeToSee; mode != rootMode {
			u.oddRoot.Do(func() {
				u.cfg.Log.Warn("the directory of aggregated logs has other permissions than it should; logs of several users may fail",
					"directory", root, "has", mode, "should have", rootMode, "property", "yarn.nodemanager.remote-app-log-dir")
			})
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := files.MkdirAll(path.Dir(root.Path), aboveMode); err != nil {
		return err
	}
	if err := files.MkdirAll(root.Path, rootMode); err != nil {
		return err
	}
	if u.cfg.Group == "" {
		return nil
	}
	if err := files.SetOwner(root.Path, "", u.cfg.Group); err != nil {
		u.cfg.Log.Warn("the directory of aggregated logs cannot be given its group", "directory", root, "group", u.cfg.Group, "error", err)
	}
	return nil
}

// makeDirs creates what is missing of the application's directory, from the
// user's downwards, as that user.
func makeDirs(files filesystem.FileSystem, dirs []filesystem.URL) error {
	there := len(dirs)
	for ; there > 0; there-- {
		dir := dirs[there-1].Path
		info, err := files.Stat(dir)
		if err == nil && info.Mode&fs.ModePerm != dirMode {
			err = files.Chmod(dir, dirMode)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range dirs[there:] {
		if err := files.MkdirAll(dir.Path, dirMode); err != nil {
			return err
		}
	}
	return nil
}

// dropOldest makes room for one more file of this node, so that there are at
// most keep.
func dropOldest(files filesystem.FileSystem, dir filesystem.URL, node string, keep int) error {
	all, err := files.List(dir.Path, aggregated.MaxNodes)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(i filesystem.Info) bool {
		return i.Dir || strings.HasSuffix(i.Name, aggregated.Unfinished) || i.Name != node && !strings.HasPrefix(i.Name, node+"_")
	})
	slices.SortFunc(all, func(a, b filesystem.Info) int { return cmp.Compare(a.ModTime, b.ModTime) })
	for _, old := range all[:max(len(all)-keep+1, 0)] {
		if err := files.Remove(path.Join(dir.Path, old.Name)); err != nil {
			return fmt.Errorf("removing %s: %w", old.Name, err)
		}
	}
	return nil
}
