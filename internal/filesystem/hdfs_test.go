package filesystem

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// namenode answers ClientProtocol by a table of methods; what is not in it fails.
type namenode struct {
	t       *testing.T
	methods map[string]func() []byte // a whole frame after its length
	calls   atomic.Int64
	standby atomic.Bool // whatever is asked, another one is active

	mu    sync.Mutex
	seen  []asked // but for renewals of leases
	l     net.Listener
	conns map[net.Conn]bool
}

// asked is one call that arrived. Who retries uses the same id, by which a namenode knows what it has carried out.
type asked struct{ method, client, id string }

// hangUp is the panic of a method that closes the connection in place of an answer.
const hangUp = "hang up"

func (n *namenode) listen() string { return n.listenAt("127.0.0.1:0") }

func (n *namenode) listenAt(address string) string {
	l, err := net.Listen("tcp", address)
	if err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	n.l, n.conns = l, map[net.Conn]bool{}
	n.mu.Unlock()
	n.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.mu.Lock()
			n.conns[c] = true
			n.mu.Unlock()
			go n.serve(c)
		}
	}()
	return l.Addr().String()
}

// die ends the listener and all connections.
func (n *namenode) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.l.Close()
	for c := range n.conns {
		c.Close()
	}
}

func (n *namenode) methodsSeen(method string) (out []asked) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.seen {
		if a.method == method {
			out = append(out, a)
		}
	}
	return out
}

func (n *namenode) serve(c net.Conn) {
	defer c.Close()
	defer func() {
		if p := recover(); p != nil && p != hangUp {
			panic(p)
		}
	}()
	r := bufio.NewReader(c)
	if _, err := io.ReadFull(r, make([]byte, 7)); err != nil {
		return
	}
	for first := true; ; first = false {
		var size uint32
		if binary.Read(r, binary.BigEndian, &size) != nil {
			return
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		if first {
			continue // the connection context
		}
		header, rest := block(frame)
		request, _ := block(rest)
		id := uint64(protowire.DecodeZigZag(number(header, 3)))
		method := string(find(request, 1))
		if method != "renewLease" {
			n.calls.Add(1)
			n.mu.Lock()
			n.seen = append(n.seen, asked{method, string(find(header, 4)), strconv.FormatUint(id, 10)})
			n.mu.Unlock()
		}
		answer, ok := n.methods[method]
		if n.standby.Load() {
			answer = refusal("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby\n\tat x")
		} else if !ok {
			answer = refusal("java.lang.UnsupportedOperationException", "no "+method)
		}
		if body := answer(); body != nil {
			// The call's id is the first field of every answer's header.
			head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id)
			first, after := block(body)
			head = append(head, first...)
			out := protowire.AppendBytes(nil, head)
			out = append(out, after...)
			c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...))
		}
	}
}

func block(b []byte) (first, rest []byte) {
	first, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil
	}
	return first, b[n:]
}

func each(b []byte, see func(num protowire.Number, v uint64, data []byte)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return
		}
		switch typ {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b[n:])
			see(num, v, nil)
		case protowire.BytesType:
			data, _ := protowire.ConsumeBytes(b[n:])
			see(num, 0, data)
		}
		b = b[n+size:]
	}
}

func number(b []byte, want protowire.Number) (out uint64) {
	each(b, func(num protowire.Number, v uint64, _ []byte) {
		if num == want {
			out = v
		}
	})
	return out
}

func find(b []byte, want protowire.Number) (out []byte) {
	each(b, func(num protowire.Number, _ uint64, data []byte) {
		if num == want {
			out = data
		}
	})
	return out
}

// message builds a protobuf message from numbers and values.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		num := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		}
	}
	return b
}

func success(body []byte) func() []byte {
	return func() []byte { return protowire.AppendBytes(protowire.AppendBytes(nil, message(2, 0)), body) }
}

func refusal(class, text string) func() []byte {
	return func() []byte { return protowire.AppendBytes(nil, message(2, 1, 4, class, 5, text, 6, 1)) }
}

const isDir, isFile = 1, 2

func fileStatus(kind int, name string, size, mode int) []byte {
	return message(1, kind, 2, name, 3, size, 4, message(1, mode), 5, "olga", 6, "staff", 7, 1_700_000_000_123, 8, 0)
}

func TestHDFSCalls(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo": success(message(1, fileStatus(isDir, "", 0, 0o1777))),
		"getListing":  success(message(1, message(1, fileStatus(isFile, "a", 5, 0o640), 1, fileStatus(isDir, "b", 0, 0o755), 2, 0))),
		"rename2":     refusal("org.apache.hadoop.security.AccessControlException", "Permission denied: user=alice\n\tat x"),
		"setOwner":    refusal("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "it is safe\n\tat x"),
		"delete":      success(message(1, 1)),
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	if i, err := f.Stat("/tmp"); err != nil || i != (Info{Name: "tmp", ModTime: 1_700_000_000_123, Dir: true,
		Mode: fs.ModeDir | fs.ModeSticky | 0o777, Owner: "olga", Group: "staff"}) {
		t.Errorf("%+v %v", i, err)
	}
	infos, err := f.List("/tmp", 2)
	if err != nil || len(infos) != 2 || infos[0].Name != "a" || infos[0].Size != 5 || infos[0].Mode != 0o640 || !infos[1].Dir {
		t.Errorf("%+v %v", infos, err)
	}
	if _, err := f.List("/tmp", 1); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if err := f.Rename("/a", "/b"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if err := f.SetOwner("/a", "x", ""); err == nil || !strings.Contains(err.Error(), "SafeModeException: it is safe") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if err := f.Remove("/a"); err != nil {
		t.Error(err)
	}
	if err := f.Remove("/"); err == nil {
		t.Error("removed the root")
	}
	if _, err := f.Open("/tmp"); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Error(err)
	}
	f.Close()
	if _, err := f.Stat("/tmp"); err == nil {
		t.Error("a closed connection answers")
	}
}

func TestHDFSMissing(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{"getFileInfo": success(nil)}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	if _, err := f.Stat("/x"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/x") {
		t.Error(err)
	}
	if err := f.Remove("/x"); err != nil {
		t.Error(err)
	}
}

func TestHDFSNewDirectoryIsSticky(t *testing.T) {
	changed := 0
	n := &namenode{t: t, methods: map[string]func() []byte{"getFileInfo": success(nil), "mkdirs": success(message(1, 1)),
		"setPermission": func() []byte { changed++; return success(nil)() }}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	for _, mode := range []fs.FileMode{0o770, 0o777 | fs.ModeSticky} {
		if err := f.MkdirAll("/", mode); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err) // a root that is not there cannot be made
		}
		if err := f.(*hadoop).mkdir("/tmp", mode); err != nil {
			t.Error(err)
		}
	}
	if changed != 1 {
		t.Error("modes set:", changed)
	}
}

func TestHDFSOptions(t *testing.T) {
	u := URL{"hdfs", "nn", "/"}
	options, err := hdfsOptions(site(map[string]string{"dfs.client.use.datanode.hostname": "TRUE", "dfs.data.transfer.protection": "integrity,authentication"}), u, "bob")
	if err != nil || options.User != "bob" || !options.UseDatanodeHostname || options.DataTransferProtection != "" {
		t.Errorf("%+v %v", options, err)
	}
	if _, err := hdfsOptions(site(map[string]string{"hadoop.security.authentication": "kerberos"}), u, "bob"); err == nil || !strings.Contains(err.Error(), "hadoop.security.authentication") {
		t.Error(err)
	}
	if _, err := hdfsOptions(site(nil), u, ""); err == nil {
		t.Error("nobody may not connect")
	}
}

func TestHDFSHostileNamenode(t *testing.T) {
	frame := func(b ...byte) func() []byte { return func() []byte { return b } }
	for name, k := range map[string]struct {
		answer func() []byte
		why    string
	}{
		"huge frame": {nil, "an answer that is too long"},
		"garbage":    {frame(0xff, 0xff, 0xff), ""},
		"no answer":  {func() []byte { return nil }, ErrStalled.Error()},
		"evil names": {success(message(1, message(1, fileStatus(isFile, "..", 5, 0o640), 2, 0))), `a file named ".."`},
		"endless":    {success(message(1, message(2, 7))), "list took more than"},
	} {
		n := &namenode{t: t, methods: map[string]func() []byte{
			"getFileInfo": success(message(1, fileStatus(isDir, "", 0, 0o755))), "getListing": k.answer}}
		address := n.listen()
		var cfg Config
		switch name {
		case "garbage", "no answer":
			cfg.Limits.Idle = 200 * time.Millisecond
		case "endless":
			cfg.Limits.Operation = time.Second
		}
		if k.answer == nil {
			address = loose(t, []byte{0x7f, 0, 0, 0, 1})
		}
		f := connect(t, cfg, "hdfs://"+address)
		_, err := f.List("/x", 10)
		if err == nil || !strings.Contains(err.Error(), k.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// loose answers whatever it hears with the same bytes.
func loose(t *testing.T, answer []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Write(answer)
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestHDFSHostileDatanode(t *testing.T) {
	// A read is granted, with sizes that no arithmetic survives.
	packets := func(checksum []byte, header []byte) []byte {
		out := protowire.AppendBytes(nil, message(1, 0, 4, message(1, checksum, 2, 0)))
		return append(append(out, 0, 0, 0, 4, 0, byte(len(header))), header...)
	}
	header := func(length uint32) (b []byte) {
		for num := range 2 {
			b = protowire.AppendFixed64(protowire.AppendTag(b, protowire.Number(num+1), protowire.Fixed64Type), 0)
		}
		b = append(b, message(3, 0)...)
		return protowire.AppendFixed32(protowire.AppendTag(b, 4, protowire.Fixed32Type), length)
	}
	for name, k := range map[string]struct {
		answer []byte
		why    string
	}{
		"garbage":   {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "too slow"},
		"silence":   {nil, "too slow"},
		"no chunks": {packets(message(1, 1, 2, 0), header(1000)), "made no sense"},
		"negative":  {packets(message(1, 1, 2, 1), header(1<<31+1)), "made no sense"},
		"nothing":   {packets(message(1, 1, 2, 0), header(0)), "64 connections"},
	} {
		answer := k.answer
		host, port, _ := net.SplitHostPort(loose(t, answer))
		p, _ := strconv.Atoi(port)
		located := locatedBlock(host, p, 100)
		n := &namenode{t: t, methods: map[string]func() []byte{
			"getFileInfo":       success(message(1, fileStatus(isFile, "", 100, 0o644))),
			"getBlockLocations": success(message(1, message(1, 100, 2, located, 3, 0, 5, 1))),
			"getServerDefaults": success(serverDefaults),
		}}
		f := connect(t, Config{Limits: Limits{Idle: 200 * time.Millisecond}}, "hdfs://"+n.listen())
		r, err := f.Open("/x")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err == nil || len(got) > 0 || !strings.Contains(err.Error(), k.why) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		r.Close()
	}
}

func TestHDFSEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	n := &namenode{t: t, methods: map[string]func() []byte{"getFileInfo": func() []byte { cancel(errors.New("enough")); return nil }}}
	f := connectAs(t, ctx, Config{}, "hdfs://"+n.listen(), "bob")
	if _, err := f.Stat("/x"); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	if _, err := tryConnect(t.Context(), Config{}, "hdfs://127.0.0.1:1", "bob"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
