package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"path"
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

func newHDFS(ctx context.Context, s *Systems, u URL, user string) (*hadoop, error) {
	cfg := s.cfg
	options, err := hdfsOptions(cfg, u, user)
	if err != nil {
		return nil, err
	}
	c, err := cfg.findCluster(u)
	if err != nil {
		return nil, err
	}
	h := &hadoop{session: newSession(ctx, cfg), url: u, cfg: cfg}
	v := newService(h.session, cfg, c, s.activeOf(c.name), &s.waits)
	options.Addresses = []string{c.name}
	options.NamenodeDialFunc = func(context.Context, string, string) (net.Conn, error) { return v, nil }
	options.DatanodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return h.connect(network, address)
	}
	err = h.do("connect", "/", func() (err error) {
		if err = v.reach(); err == nil {
			h.client, err = hdfs.NewClient(options)
		}
		return err
	})
	if err != nil {
		h.session.Close()
		return nil, err
	}
	return h, nil
}

// hdfsOptions is what the properties say about a client. dfs.data.transfer.protection has no effect without Kerberos, on
// Hadoop's side neither.
func hdfsOptions(cfg Config, u URL, user string) (hdfs.ClientOptions, error) {
	var options hdfs.ClientOptions
	if strings.EqualFold(cfg.trimmed("hadoop.security.authentication"), "kerberos") {
		return options, fmt.Errorf("%s: hadoop.security.authentication is kerberos, and HDFS can only be reached with simple authentication", u)
	}
	if user == "" {
		return options, fmt.Errorf("%s: no user to act as", u)
	}
	options = hdfs.ClientOptions{User: user, UseDatanodeHostname: strings.EqualFold(cfg.trimmed("dfs.client.use.datanode.hostname"), "true")}
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
	if cause := context.Cause(h.ctx); cause != nil && !errors.Is(err, cause) {
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

var errLater = errors.New("RetriableException") // the namenode asks to be asked again

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
	case "RetriableException":
		same = errLater
	default:
		return fmt.Errorf("%s: %s", class, clip(first))
	}
	return fmt.Errorf("%w: %s", same, clip(first))
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

var errEncrypted = errors.New("this HDFS encrypts blocks on their way (dfs.encrypt.data.transfer of the NameNode), which is not built")

// inClear makes sure that DataNodes take and give blocks as they are. The library asks the same, once.
func (h *hadoop) inClear() error {
	d, err := h.client.ServerDefaults()
	if err == nil && d.EncryptDataTransfer {
		err = errEncrypted
	}
	return err
}

// layout is how a new file is stored: as this node's properties say, else as the namenode does.
func (h *hadoop) layout() (replication int, block int64, err error) {
	replication = int(h.cfg.number("dfs.replication", 0, math.MaxInt16))
	block = h.cfg.bytes("dfs.blocksize")
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
