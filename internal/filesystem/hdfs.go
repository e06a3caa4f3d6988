package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

// hadoop is HDFS with simple authentication. The library behind it trusts its peers: every call into it runs under the
// session's bounds, within Limits.Operation, and a panic is an error.
type hadoop struct {
	*session
	url    URL
	cfg    Config
	client *hdfs.Client
}

func newHDFS(ctx context.Context, cfg Config, u URL, user string) (*hadoop, error) {
	options, err := hdfsOptions(cfg.Property, u, user)
	if err != nil {
		return nil, err
	}
	h := &hadoop{session: newSession(ctx, cfg), url: u, cfg: cfg}
	options.NamenodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return h.connect(network, address, frames(MaxFrame))
	}
	options.DatanodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return h.connect(network, address, nil)
	}
	err = h.do("connect", "/", func() (err error) {
		h.client, err = hdfs.NewClient(options)
		return err
	})
	if err != nil {
		h.session.Close()
		return nil, err
	}
	return h, nil
}

// hdfsOptions is what the properties and the URL say about a cluster.
func hdfsOptions(property func(string) string, u URL, user string) (hdfs.ClientOptions, error) {
	var options hdfs.ClientOptions
	if strings.EqualFold(property("hadoop.security.authentication"), "kerberos") {
		return options, fmt.Errorf("%s: hadoop.security.authentication is kerberos, and HDFS can only be reached with simple authentication", u)
	}
	if user == "" {
		return options, fmt.Errorf("%s: no user to act as", u)
	}
	addresses, err := namenodes(property, u)
	if err != nil {
		return options, err
	}
	options = hdfs.ClientOptions{Addresses: addresses, User: user,
		UseDatanodeHostname: strings.EqualFold(property("dfs.client.use.datanode.hostname"), "true")}
	for _, level := range []string{"authentication", "integrity", "privacy"} {
		if strings.Contains(strings.ToLower(property("dfs.data.transfer.protection")), level) {
			options.DataTransferProtection = level
		}
	}
	if strings.EqualFold(property("dfs.encrypt.data.transfer"), "true") {
		options.DataTransferProtection = "privacy"
	}
	return options, nil
}

// do runs a call of the library: it ends with the session, or ends the session when it takes too long.
func (h *hadoop) do(op, file string, call func() error) (err error) {
	limit := time.AfterFunc(h.limits.Operation, func() {
		h.cancel(fmt.Errorf("%w: %s took more than %v", ErrStalled, op, h.limits.Operation))
	})
	defer limit.Stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("an answer of HDFS made no sense: %v", r)
		}
		if err != nil {
			err = h.fail(op, file, err)
		}
	}()
	if err := context.Cause(h.ctx); err != nil {
		return err
	}
	h.begin()
	return call()
}

func (h *hadoop) fail(op, file string, err error) error {
	if cause := context.Cause(h.ctx); cause != nil {
		err = cause
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	var remote hdfs.Error
	if errors.As(err, &remote) {
		err = explain(remote)
	}
	return &fs.PathError{Op: op, Path: h.url.At(file).String(), Err: err}
}

// explain turns Java's exceptions into errors of package fs where they are the same.
func explain(e hdfs.Error) error {
	first, _, _ := strings.Cut(e.Message(), "\n")
	class := e.Exception()
	var same error
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "FileNotFoundException":
		same = fs.ErrNotExist
	case "AccessControlException":
		same = fs.ErrPermission
	case "FileAlreadyExistsException", "AlreadyBeingCreatedException":
		same = fs.ErrExist
	default:
		return fmt.Errorf("%s: %s", class, clip(first))
	}
	return fmt.Errorf("%w: %s", same, clip(first))
}

// frames checks the stream of a namenode: answers of at most limit bytes, each after its length in four bytes.
func frames(limit uint32) func([]byte) error {
	var length, rest uint32
	digits := 0
	return func(b []byte) error {
		for len(b) > 0 {
			if rest > 0 {
				n := min(uint32(len(b)), rest)
				rest -= n
				b = b[n:]
				continue
			}
			length = length<<8 | uint32(b[0])
			b = b[1:]
			if digits++; digits < 4 {
				continue
			}
			if length > limit {
				return fmt.Errorf("the namenode announced an answer of %d bytes, more than %d", length, limit)
			}
			rest, length, digits = length, 0, 0
		}
		return nil
	}
}

// Close ends the connections first: the library would wait for a call in progress.
func (h *hadoop) Close() error {
	if h.client == nil {
		return nil
	}
	h.session.Close()
	client := h.client
	h.client = nil
	client.Close() // says only that the connection is closed already
	return nil
}

func (h *hadoop) Stat(file string) (info Info, err error) {
	err = h.do("stat", file, func() error {
		i, err := h.client.Stat(file)
		if err == nil {
			info = hdfsInfo(i)
		}
		return err
	})
	return info, err
}

const stickyBit = 0o1000 // in HDFS, and in what the library takes for a mode

func hdfsInfo(i fs.FileInfo) Info {
	mode := i.Mode().Perm()
	if i.Mode()&stickyBit != 0 {
		mode |= fs.ModeSticky
	}
	if i.IsDir() {
		mode |= fs.ModeDir
	}
	info := Info{Name: i.Name(), Size: i.Size(), ModTime: i.ModTime().UnixMilli(), Dir: i.IsDir(), Mode: mode}
	if o, ok := i.(*hdfs.FileInfo); ok {
		info.Owner, info.Group = o.Owner(), o.OwnerGroup()
	}
	return info
}

func hdfsMode(m fs.FileMode) fs.FileMode {
	if m&fs.ModeSticky != 0 {
		return m.Perm() | stickyBit
	}
	return m.Perm()
}

func (h *hadoop) List(dir string, limit int) (out []Info, err error) {
	err = h.do("list", dir, func() error {
		f, err := h.client.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		infos, err := f.Readdir(limit + 1)
		if err != nil && !errors.Is(err, io.EOF) { // which stands for an empty directory
			return err
		}
		if len(infos) > limit {
			return ErrTooMany
		}
		for _, i := range infos {
			if name := i.Name(); name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
				return fmt.Errorf("the namenode lists a file named %q", clip(name))
			}
			out = append(out, hdfsInfo(i))
		}
		return nil
	})
	return out, err
}

func (h *hadoop) MkdirAll(dir string, mode fs.FileMode) error {
	return mkdirAll(dir, func(dir string) error { return h.mkdir(dir, mode) }, h.Stat)
}

func (h *hadoop) mkdir(dir string, mode fs.FileMode) error {
	return h.do("mkdir", dir, func() error {
		err := h.client.Mkdir(dir, hdfsMode(mode))
		if err == nil && mode&fs.ModeSticky != 0 { // which namenodes overlook in a new directory
			err = h.client.Chmod(dir, hdfsMode(mode))
		}
		return err
	})
}

func (h *hadoop) Rename(from, to string) error {
	return h.do("rename", from, func() error { return h.client.Rename(from, to) })
}

func (h *hadoop) Remove(file string) error {
	if path.Clean(file) == "/" {
		return h.fail("remove", file, fs.ErrInvalid)
	}
	err := h.do("remove", file, func() error { return h.client.RemoveAll(file) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (h *hadoop) Chmod(file string, mode fs.FileMode) error {
	return h.do("chmod", file, func() error { return h.client.Chmod(file, hdfsMode(mode)) })
}

func (h *hadoop) SetOwner(file, owner, group string) error {
	return h.do("chown", file, func() error { return h.client.Chown(file, owner, group) })
}

// layout is how a new file is stored: as this node's properties say, else as the namenode does.
func (h *hadoop) layout() (replication int, block int64, err error) {
	replication, _ = strconv.Atoi(h.cfg.Property("dfs.replication"))
	block, _ = strconv.ParseInt(h.cfg.Property("dfs.blocksize"), 10, 64)
	if replication > 0 && block > 0 {
		return replication, block, nil
	}
	d, err := h.client.ServerDefaults()
	if replication <= 0 {
		replication = d.Replication
	}
	if block <= 0 {
		block = d.BlockSize
	}
	return replication, block, err
}
