// Package golden reads recorded material of the test folder: the answers of Apache's daemons (test/compat/goldens)
// and the decisions of its schedulers (test/parity/traces). Both are kept as one .tar.gz for each set; nothing is
// unpacked on disk.
package golden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
)

// Bounds of one archive, far above what is recorded: a damaged file ends in an error, not in a full memory.
const (
	maxFiles = 20_000
	maxBytes = 256 << 20
)

// Where recorded material lies, below the repository's root.
const (
	answers   = "test/compat/goldens"
	decisions = "test/parity/traces"
	suffix    = ".tar.gz"
)

// Open returns the recorded answers of one set ("capacity", "more", "reservations", "fair", "fifo", "containers", "fs2cs" or "schedconf"), rooted
// at the set: "index.tsv", "http/get-info.json", "cli/node-list.out".
func Open(set string) (fs.FS, error) { return openIn(answers, set) }

// Sets lists what Open knows, sorted.
func Sets() ([]string, error) { return namesIn(answers) }

// Traces returns the recorded decisions of one profile, rooted at the profile: "001.jsonl". The profile "examples"
// is the traces written by hand, which are kept as plain files.
func Traces(profile string) (fs.FS, error) {
	if profile != "examples" {
		return openIn(decisions, profile)
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	return os.DirFS(filepath.Join(root, decisions, profile)), nil
}

// Profiles lists what Traces knows, sorted.
func Profiles() ([]string, error) {
	names, err := namesIn(decisions)
	if err != nil {
		return nil, err
	}
	names = append(names, "examples")
	slices.Sort(names)
	return names, nil
}

// Root is the repository's root: the nearest folder with a go.mod, from the working directory upwards.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("golden: find the repository: %w", err)
	}
	for dir := start; ; {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("golden: find the repository: no go.mod in %s or above", start)
		}
		dir = up
	}
}

func openIn(folder, name string) (fs.FS, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		return nil, fmt.Errorf("golden: %q is not the name of a set", name)
	}
	file := filepath.Join(root, folder, name+suffix)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		known, _ := namesIn(folder)
		return nil, fmt.Errorf("golden: no set %q in %s, there are %s: %w", name, folder, strings.Join(known, ", "), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	all, err := Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("golden: read %s: %w", file, err)
	}
	return fs.Sub(all, name)
}

// Read holds a .tar.gz in memory as a file system. Only regular files count; a name that leaves the archive, too many
// files or too many bytes are an error.
func Read(r io.Reader) (fs.FS, error) { return read(r, maxFiles, maxBytes) }

func read(r io.Reader, files int, size int64) (fs.FS, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	out := fstest.MapFS{}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// To the very end, where the checksum is.
			if _, err := io.Copy(io.Discard, io.LimitReader(zr, maxBytes)); err != nil {
				return nil, err
			}
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := path.Clean(h.Name)
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("name %q leaves the archive", h.Name)
		}
		if len(out) == files {
			return nil, fmt.Errorf("more than %d files", files)
		}
		if h.Size > size {
			return nil, fmt.Errorf("%s: more content than allowed (%d bytes left)", name, size)
		}
		size -= h.Size
		data, err := io.ReadAll(tr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = &fstest.MapFile{Data: data, Mode: 0o444, ModTime: h.ModTime}
	}
}

func namesIn(folder string) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
