package filesystem

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// datanode keeps the bytes of one block.
type datanode struct {
	mu    sync.Mutex
	bytes []byte
}

func (d *datanode) listen(t *testing.T) (host string, port int) {
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
				d.serve(c)
			}()
		}
	}()
	h, p, _ := net.SplitHostPort(l.Addr().String())
	port, _ = strconv.Atoi(p)
	return h, port
}

func (d *datanode) serve(c net.Conn) {
	r := bufio.NewReader(c)
	op := make([]byte, 3)
	if _, err := io.ReadFull(r, op); err != nil {
		return
	}
	size, _ := binary.ReadUvarint(r)
	if _, err := io.CopyN(io.Discard, r, int64(size)); err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if op[2] == 0x51 {
		d.send(c)
		return
	}
	c.Write(protowire.AppendBytes(nil, message(1, 0, 2, "")))
	for {
		head := make([]byte, 6)
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		header := make([]byte, binary.BigEndian.Uint16(head[4:]))
		payload := make([]byte, binary.BigEndian.Uint32(head)-4)
		io.ReadFull(r, header)
		io.ReadFull(r, payload)
		length, seqno := fixed(header, 4), fixed(header, 2)
		d.bytes = append(d.bytes, payload[len(payload)-int(length):]...)
		c.Write(protowire.AppendBytes(nil, message(1, int(protowire.EncodeZigZag(int64(seqno))), 2, 0, 3, 1<<40)))
		if number(header, 3) == 1 {
			return
		}
	}
}

func fixed(b []byte, want protowire.Number) (out uint64) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if num == want && typ == protowire.Fixed32Type {
			return uint64(binary.LittleEndian.Uint32(b[n:]))
		}
		if num == want && typ == protowire.Fixed64Type {
			return binary.LittleEndian.Uint64(b[n:])
		}
		b = b[n+size:]
	}
	return 0
}

// send is one packet with all, without checksums.
func (d *datanode) send(c net.Conn) {
	header := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 0)
	header = protowire.AppendFixed64(protowire.AppendTag(header, 2, protowire.Fixed64Type), 0)
	header = append(header, message(3, 0)...)
	header = protowire.AppendFixed32(protowire.AppendTag(header, 4, protowire.Fixed32Type), uint32(len(d.bytes)))
	out := protowire.AppendBytes(nil, message(1, 0, 4, message(1, message(1, 0, 2, 512), 2, 0)))
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(d.bytes)))
	out = binary.BigEndian.AppendUint16(out, uint16(len(header)))
	c.Write(append(append(out, header...), d.bytes...))
}

func locatedBlock(host string, port, size int) []byte {
	location := message(1, message(1, host, 2, host, 3, "id", 4, port, 5, 1, 6, 1))
	return message(1, message(1, "pool", 2, 7, 3, 1, 4, size), 2, 0, 3, location, 4, 0, 5, message(1, "", 2, "", 3, "", 4, ""))
}

var serverDefaults = message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 3, 5, 4096))

func TestHDFSWritesAndReads(t *testing.T) {
	d := &datanode{}
	host, port := d.listen(t)
	content := bytes.Repeat([]byte("0123456789"), 20_000)
	located, tries := locatedBlock(host, port, len(content)), 0
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo":            success(message(1, fileStatus(isFile, "", len(content), 0o640))),
		"delete":                 success(message(1, 1)),
		"getServerDefaults":      success(serverDefaults),
		"create":                 success(message(1, fileStatus(isFile, "", 0, 0o640))),
		"addBlock":               success(message(1, locatedBlock(host, port, 0))),
		"updateBlockForPipeline": success(message(1, located)),
		"complete": func() []byte { // not at once
			tries++
			return success(message(1, min(tries/2, 1)))()
		},
		"getBlockLocations": success(message(1, message(1, len(content), 2, located, 3, 0, 5, 1))),
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	w, err := f.Create("/x", 0o640, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{nil, content[:5], content[5:]} {
		if n, err := w.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil || tries != 2 {
		t.Fatal(err, tries)
	}
	if err := w.Close(); err != nil {
		t.Fatal("closed twice", err)
	}
	if got := read(t, f, "/x"); got != string(content) {
		t.Errorf("%d bytes of %d", len(got), len(content))
	}
}

func TestHDFSEmptyFileHasNoBlock(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getServerDefaults": success(serverDefaults),
		"create":            success(message(1, fileStatus(isFile, "", 0, 0o640))),
		"addBlock":          func() []byte { t.Error("a block for nothing"); return nil },
		"complete":          success(message(1, 1)),
	}}
	f := connect(t, Config{Property: func(k string) string { return map[string]string{"dfs.replication": "1", "dfs.blocksize": "1048576"}[k] }}, "hdfs://"+n.listen())
	if err := write(t, f, "/x", "", 0o640, false); err != nil {
		t.Error(err)
	}
	if n.calls.Load() != 2 {
		t.Error("asked for defaults though both are set:", n.calls.Load())
	}
}

func TestHDFSEndOfConnectionIsNotTheEndOfTheFile(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo":       success(message(1, fileStatus(isFile, "", 100, 0o640))),
		"getServerDefaults": success(serverDefaults),
		"getBlockLocations": func() []byte { panic(hangUp) },
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	r, err := f.Open("/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(len(got), err)
	}
}

func TestHDFSEncrypted(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo":       success(message(1, fileStatus(isFile, "", 100, 0o640))),
		"getServerDefaults": success(message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 3, 5, 4096, 6, 1))),
		"create":            success(message(1, fileStatus(isFile, "", 0, 0o640))),
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	r, err := f.Open("/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, errEncrypted) {
		t.Error(err)
	}
	if err := write(t, f, "/y", "content", 0o640, false); !errors.Is(err, errEncrypted) {
		t.Error(err)
	}
}

// Bytes are appended after the existing ones, in the middle of a block and of a chunk with a checksum.
func TestHDFSAppends(t *testing.T) {
	old := bytes.Repeat([]byte("abc"), 300)
	more := bytes.Repeat([]byte("0123456789"), 20_000)
	d := &datanode{bytes: slices.Clone(old)}
	host, port := d.listen(t)
	status := fileStatus(isFile, "", len(old), 0o640)
	status = append(status, message(10, 1, 11, 1<<27)...) // replication, size of blocks
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo":            success(message(1, status)),
		"getServerDefaults":      success(serverDefaults),
		"append":                 success(message(1, locatedBlock(host, port, len(old)), 2, status)),
		"updateBlockForPipeline": success(message(1, locatedBlock(host, port, len(old)))),
		"updatePipeline":         success(nil),
		"complete":               success(message(1, 1)),
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	w, err := f.(Appender).Append("/x")
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, more)
	d.has(t, append(old, more...))
}

func TestHDFSAppendFails(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getFileInfo": success(message(1, append(fileStatus(isFile, "", 5, 0o640), message(11, 1<<27)...))),
		"append":      refusal("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", "another client writes to /x"),
	}}
	f := connect(t, Config{}, "hdfs://"+n.listen())
	if _, err := f.(Appender).Append("/x"); err == nil || !strings.Contains(err.Error(), "another client writes") || !strings.Contains(err.Error(), "append hdfs://") {
		t.Error(err)
	}
}

// A namenode that has not heard of a block gives out none after the next one: the file is closed, which waits, and opened again after each full block.
func TestHDFSWaitsForEachBlock(t *testing.T) {
	const block = 1 << 20
	content := bytes.Repeat([]byte("0123456789abcdef"), 2*block/16+100)
	d := &datanode{}
	host, port := d.listen(t)
	status := append(fileStatus(isFile, "", block, 0o640), message(11, block)...)
	completes, appends := 0, 0
	n := &namenode{t: t, methods: map[string]func() []byte{
		"getServerDefaults":      success(serverDefaults),
		"getFileInfo":            success(message(1, status)),
		"create":                 success(message(1, status)),
		"addBlock":               success(message(1, locatedBlock(host, port, 0))),
		"updateBlockForPipeline": success(message(1, locatedBlock(host, port, block))),
		"complete": func() []byte { // not at once
			completes++
			return success(message(1, 1-completes%2))()
		},
		"append": func() []byte { // not at once, as with dfs.namenode.file.close.num-committed-allowed
			if appends++; appends%2 == 1 {
				return refusal("org.apache.hadoop.ipc.RetriableException", "it is COMMITTED but not yet COMPLETE")()
			}
			return success(message(2, status))()
		},
	}}
	f := connect(t, Config{Property: func(k string) string { return map[string]string{"dfs.replication": "1", "dfs.blocksize": "1m"}[k] }}, "hdfs://"+n.listen())
	w, err := f.Create("/x", 0o640, false)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, content)
	d.has(t, content)
	var calls []string
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.seen {
		if a.method == "addBlock" || a.method == "complete" || a.method == "append" {
			calls = append(calls, a.method)
		}
	}
	if got, want := strings.Join(calls, " "), "addBlock complete complete append append addBlock complete complete append append addBlock complete complete"; got != want {
		t.Errorf("asked %s, not %s", got, want)
	}
}

func writeAll(t *testing.T, w io.WriteCloser, content []byte) {
	t.Helper()
	if n, err := w.Write(content); n != len(content) || err != nil {
		t.Fatal(n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func (d *datanode) has(t *testing.T, content []byte) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !bytes.Equal(d.bytes, content) {
		t.Errorf("%d bytes of %d", len(d.bytes), len(content))
	}
}
