package replica

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A snapshot is all data for a member that is far behind: a frame with the message of raft, in which the position and the voters are those of the data, frames with
// parts (as those of a batch; each puts a value), and an empty frame. The receiver answers with a frame: empty, or why it did not take it.
const (
	partBytes    = 1 << 20
	maxSnapshot  = 64 << 30 // bytes on the receiver's disk
	snapPatience = 30 * time.Second
)

// sendSnapshot has all data sent to a member that needs it.
func (m *Member) sendSnapshot(p *peer, x *pb.Message) {
	if p.sending {
		m.undelivered = append(m.undelivered, x)
		return
	}
	p.sending = true
	m.work.Go(func() {
		err := m.copyTo(p, x)
		if err != nil && m.ctx.Err() == nil {
			m.complain(p.name, fmt.Errorf("cannot send it all data: %w", err))
		}
		m.tell(func() {
			p.sending = false
			status := raft.SnapshotFinish
			if err != nil {
				status = raft.SnapshotFailure
			}
			m.core.node.ReportSnapshot(x.GetTo(), status)
		})
	})
}

// copyTo writes the data to a file first: who reads the store for long keeps it from growing.
func (m *Member) copyTo(p *peer, x *pb.Message) error {
	file, err := os.CreateTemp(m.cfg.Dir, outgoing)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // removed at the next start, if it cannot be now
	defer file.Close()
	x = proto.CloneOf(x)
	w := bufio.NewWriterSize(file, 1<<20)
	err = m.View(func(t Reader) error {
		at, err := decodePosition(t.Get(ownBucket, appliedKey))
		if err != nil {
			return err
		}
		voters := &pb.ConfState{}
		if err := proto.Unmarshal(t.Get(ownBucket, votersKey), voters); err != nil {
			return err
		}
		x.Snapshot = &pb.Snapshot{Data: append([]byte(nil), t.Get(ownBucket, membersKey)...), Metadata: metadata(at, voters)}
		b, err := proto.Marshal(x)
		if err == nil {
			err = writeFrame(w, b)
		}
		if err != nil {
			return err
		}
		var parts []byte
		for _, bucket := range m.cfg.Buckets {
			err := t.ForEach(bucket, func(key, value []byte) error {
				if value == nil {
					value = []byte{}
				}
				parts = appendPart(parts, bucket, string(key), value, false)
				if len(parts) < partBytes {
					return nil
				}
				err := writeFrame(w, parts)
				parts = parts[:0]
				return err
			})
			if err != nil {
				return err
			}
		}
		if len(parts) > 0 {
			if err := writeFrame(w, parts); err != nil {
				return err
			}
		}
		return writeFrame(w, nil)
	})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return m.stream(p, file)
}

func (m *Member) stream(p *peer, file *os.File) error {
	conn, _, _, err := m.call(m.ctx, p.name, forSnapshot)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(m.ctx, func() { conn.Close() })()
	b := make([]byte, 256<<10)
	for {
		n, err := file.Read(b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		conn.SetWriteDeadline(time.Now().Add(snapPatience))
		if _, err := conn.Write(b[:n]); err != nil {
			return err
		}
	}
	conn.SetReadDeadline(time.Now().Add(snapPatience))
	answer, err := readFrame(conn, maxHello)
	if err == nil && len(answer) > 0 {
		err = errors.New(string(answer))
	}
	return err
}

// Names of files beside the store's; both are removed at the start.
const (
	outgoing = "snapshot-out-*"
	incoming = "snapshot-in-*"
)

func (m *Member) removeSnapshots() error {
	for _, pattern := range []string{outgoing, incoming} {
		left, err := filepath.Glob(filepath.Join(m.cfg.Dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive takes a snapshot.
func (m *Member) receive(conn net.Conn, r *bufio.Reader, w *bufio.Writer, theirs *hello) error {
	err := m.takeSnapshot(conn, r, theirs)
	text := ""
	if err != nil {
		text = err.Error()
	}
	conn.SetWriteDeadline(time.Now().Add(snapPatience))
	return errors.Join(err, writeFrame(w, []byte(text)), w.Flush())
}

func (m *Member) takeSnapshot(conn net.Conn, r *bufio.Reader, theirs *hello) error {
	if !m.receiving.TryLock() {
		return errors.New("another snapshot is being received")
	}
	defer m.receiving.Unlock()
	conn.SetDeadline(time.Now().Add(snapPatience))
	b, err := readFrame(r, maxFrame)
	if err != nil {
		return err
	}
	x := &pb.Message{}
	if err := proto.Unmarshal(b, x); err != nil {
		return err
	}
	if x.GetType() != pb.MsgSnap || x.GetFrom() != theirs.Disk || !json.Valid(x.GetSnapshot().GetData()) {
		return errors.New("that is no snapshot")
	}
	file, err := os.CreateTemp(m.cfg.Dir, incoming)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // removed at the next start, if it cannot be now
	defer file.Close()
	f := bufio.NewWriterSize(file, 1<<20)
	for total := int64(0); ; {
		conn.SetReadDeadline(time.Now().Add(snapPatience))
		b, err := readFrame(r, maxFrame)
		if err != nil {
			return err
		}
		if total += int64(len(b)); total > maxSnapshot {
			return fmt.Errorf("the snapshot is larger than %d bytes", int64(maxSnapshot))
		}
		if err := writeFrame(f, b); err != nil {
			return err
		}
		if len(b) == 0 {
			break
		}
	}
	if err := f.Flush(); err != nil {
		return err
	}
	m.cfg.Log.Info("all data was received from the leader, because this member was far behind", "member", theirs.Name, "entry", x.GetSnapshot().GetMetadata().GetIndex())
	taken := make(chan struct{})
	if !m.tell(func() {
		defer close(taken)
		m.core.install = func(put func(bucket, key string, value []byte) error) error {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if err := readParts(bufio.NewReaderSize(file, 1<<20), put); err != nil {
				return err
			}
			m.core.kept.remade = theirs.Remade
			return put(ownBucket, remadeKey, encodeRemade(theirs.Remade))
		}
		m.core.step(x, m.cfg.Clock())
		m.advance() // while the file is there
		m.core.install = nil
	}) {
		return ErrClosed
	}
	select {
	case <-taken:
		return nil
	case <-m.ctx.Done():
		return ErrClosed
	}
}

func readParts(r io.Reader, put func(bucket, key string, value []byte) error) error {
	for {
		b, err := readFrame(r, maxFrame)
		if err != nil || len(b) == 0 {
			return err
		}
		for d := (decoder{b: b}); len(d.b) > 0; {
			bucket, key, value, prefix := d.part()
			if d.bad || prefix || value == nil || bucket == ownBucket || bucket == logBucket {
				return errors.New("it has a part that is none")
			}
			if err := put(bucket, key, value); err != nil {
				return err
			}
		}
	}
}
