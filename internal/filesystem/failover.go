package filesystem

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/internal/seldom"
)

// service stands between the library, which sees one connection that never breaks, and the NameNodes of a cluster. A call
// goes to the NameNode that answered last. When that one cannot be reached or is a standby, the same bytes go to the next, as
// Java's failover does. They have the call's own id, by which a NameNode recognises a call that it has carried out already and
// repeats the answer; so it is safe to ask again. The library has one call under way at a time.
type service struct {
	s      *session
	cfg    Config
	c      cluster
	active *atomic.Int32 // the NameNode that answered last, for all connections to the cluster
	waits  *seldom.Limit // likewise: what Waiting is told

	at     int // the NameNode that conn leads to
	conn   net.Conn
	proven bool     // conn has brought an answer, so hello has been sent
	hello  [][]byte // what begins every connection: the protocol's header, then whom the calls are made for
	call   []byte   // has no answer yet
	answer []byte   // what the library has not read of one
}

func newService(s *session, cfg Config, c cluster, active *atomic.Int32, waits *seldom.Limit) *service {
	return &service{s: s, cfg: cfg, c: c, active: active, waits: waits, at: int(active.Load()) % len(c.nodes)}
}

// helloParts is the number of Writes before the first call.
const helloParts = 2

// Write takes a whole message, which Read sends.
func (v *service) Write(p []byte) (int, error) {
	if err := context.Cause(v.s.ctx); err != nil {
		return 0, err
	}
	if len(v.hello) < helloParts {
		v.hello = append(v.hello, bytes.Clone(p))
	} else {
		v.call, v.answer = bytes.Clone(p), nil
	}
	return len(p), nil
}

// reach connects to some NameNode, of which it is not known yet whether it is active.
func (v *service) reach() error {
	_, err := v.ask(nil)
	return err
}

// Read makes the call that was written and gives its answer.
func (v *service) Read(p []byte) (int, error) {
	if len(v.answer) == 0 {
		if v.call == nil {
			return 0, io.EOF
		}
		answer, err := v.ask(v.call)
		v.call = nil
		if err != nil {
			return 0, err
		}
		v.answer = answer
	}
	n := copy(p, v.answer)
	v.answer = v.answer[n:]
	return n, nil
}

// outcome is how a call goes on after one NameNode was asked.
type outcome int

const (
	settled   outcome = iota // it was answered, or cannot be
	elsewhere                // another NameNode is to be asked
	later                    // the same one is to be asked, after a pause
	again                    // the same one, at once: the connection had ended since the last call
)

// ask makes a call until a NameNode answers or the cluster's bounds on tries are reached. Without a call it connects.
func (v *service) ask(call []byte) ([]byte, error) {
	start, failovers, retries := time.Now(), 0, 0
	failed := make([]error, len(v.c.nodes))
	for {
		answer, next, err := v.attempt(call)
		if cause := context.Cause(v.s.ctx); cause != nil {
			return nil, v.interrupted(cause, failed, failovers+retries, start)
		}
		if next == settled {
			return answer, err
		}
		failed[v.at] = err
		var pause time.Duration
		enough, why := false, "" // why it pauses, if it does
		switch next {
		case elsewhere:
			v.hangUp()
			v.at = (v.at + 1) % len(v.c.nodes)
			enough = failovers >= v.c.failovers
			// Everybody is asked once before anybody is asked again.
			if failovers++; failovers >= len(v.c.nodes) {
				pause = v.pause(failovers - len(v.c.nodes) + 1)
				why = v.unserved(failed, failovers+retries, start).Error()
			}
		case later:
			enough = retries >= v.c.retries
			pause = v.pause(retries)
			why = fmt.Sprintf("%s of %s asks for patience: %v", v.c.nodes[v.at], v.c.name, err)
			retries++
		}
		if enough {
			return nil, v.unserved(failed, failovers+retries, start)
		}
		if tell := v.cfg.Waiting; tell != nil && why != "" && v.waits.Pass(v.c.name) {
			tell(why)
		}
		select {
		case <-v.s.ctx.Done():
			return nil, v.interrupted(context.Cause(v.s.ctx), failed, failovers+retries, start)
		case <-time.After(pause):
		}
	}
}

// pause grows by powers of two up to a limit, and is spread so that clients do not come back all at once.
func (v *service) pause(n int) time.Duration {
	d := v.c.sleepLimit
	if n < 20 {
		d = min(v.c.sleep<<n, d)
	}
	return time.Duration(float64(d) * (0.5 + rand.Float64()))
}

// unserved tells what was last heard of each NameNode.
func (v *service) unserved(failed []error, attempts int, start time.Time) error {
	took := time.Since(start)
	var each []string
	last := errors.New("not asked")
	for i, n := range v.c.nodes {
		if failed[i] != nil {
			last = failed[i]
			each = append(each, fmt.Sprintf("%s: %v", n, last))
		}
	}
	return &noNamenode{fmt.Sprintf("no NameNode of %s serves, asked %d times in %v: %s", v.c.name, attempts, took.Round(time.Millisecond),
		strings.Join(each, "; ")), last}
}

// interrupted tells why a call ended with its session, and what was heard of the NameNodes until then.
func (v *service) interrupted(cause error, failed []error, attempts int, start time.Time) error {
	if attempts == 0 {
		return cause
	}
	return fmt.Errorf("%w, while %s", cause, v.unserved(failed, attempts, start).Error())
}

// noNamenode is a text that wraps an error which it already holds.
type noNamenode struct {
	text string
	last error
}

func (e *noNamenode) Error() string { return e.text }
func (e *noNamenode) Unwrap() error { return e.last }

// attempt asks one NameNode. An answer is settled also if it is a refusal, which the library reads.
func (v *service) attempt(call []byte) (answer []byte, next outcome, err error) {
	fresh := v.conn == nil
	if fresh {
		if err := v.dial(); err != nil {
			return nil, v.failed(), err
		}
	}
	if call == nil {
		return nil, settled, nil
	}
	answer, err = v.exchange(call)
	switch {
	case errors.Is(err, errTooLong):
		v.hangUp()
		return nil, settled, err
	case err != nil:
		next = v.failed()
		if !fresh && v.proven && !errors.Is(err, ErrStalled) {
			next = again
		}
		v.hangUp()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the NameNode ended the connection: %w", io.ErrUnexpectedEOF)
		}
		return nil, next, err
	}
	v.proven = true
	class, text := refusalOf(answer)
	switch class {
	case "org.apache.hadoop.ipc.StandbyException", "org.apache.hadoop.ipc.ObserverRetryOnActiveException":
		err = errors.New(text)
		if !v.c.failover {
			err = fmt.Errorf("%s is not the active NameNode: name its service in the URL or in fs.defaultFS: %w", v.c.nodes[v.at], err)
		}
		return nil, v.failed(), err
	case "org.apache.hadoop.ipc.RetriableException":
		if v.c.failover {
			return nil, later, errors.New(text)
		}
	}
	v.active.Store(int32(v.at))
	return answer, settled, nil
}

// failed is what follows when a NameNode does not serve.
func (v *service) failed() outcome {
	if v.c.failover {
		return elsewhere
	}
	return settled
}

func (v *service) dial() error {
	n := v.c.nodes[v.at]
	conn, err := v.s.connect("tcp", n.address)
	if err != nil {
		var dns *net.DNSError
		if n.id == "" && errors.As(err, &dns) && dns.IsNotFound {
			err = v.cfg.unknown(v.c.name, err)
		}
		return err
	}
	v.conn, v.proven = conn, false
	return nil
}

var errTooLong = errors.New("the namenode announced an answer that is too long")

// exchange sends a call and reads the frame that comes back.
func (v *service) exchange(call []byte) ([]byte, error) {
	if !v.proven {
		call = bytes.Join([][]byte{bytes.Join(v.hello, nil), call}, nil)
	}
	if _, err := v.conn.Write(call); err != nil {
		return nil, err
	}
	const prefix = 4
	frame := bytes.NewBuffer(nil)
	if _, err := io.CopyN(frame, v.conn, prefix); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(frame.Bytes())
	if length > MaxFrame {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errTooLong, length, MaxFrame)
	}
	if _, err := io.CopyN(frame, v.conn, int64(length)); err != nil {
		return nil, err
	}
	return frame.Bytes(), nil
}

// refusalOf is the class of the exception that a frame holds, "" if there is none, and the first line of its text.
func refusalOf(frame []byte) (class, text string) {
	const exceptionClass, errorText = 4, 5 // of RpcResponseHeaderProto
	header, n := protowire.ConsumeBytes(frame[4:])
	for n > 0 && len(header) > 0 {
		num, typ, size := protowire.ConsumeTag(header)
		if size < 0 {
			return "", ""
		}
		value := header[size:]
		if n = protowire.ConsumeFieldValue(num, typ, value); n < 0 {
			return "", ""
		}
		if typ == protowire.BytesType {
			b, _ := protowire.ConsumeBytes(value)
			switch num {
			case exceptionClass:
				class = string(b)
			case errorText:
				text, _, _ = strings.Cut(string(b), "\n")
			}
		}
		header = value[n:]
	}
	return class, clip(text)
}

func (v *service) hangUp() {
	if v.conn != nil {
		v.conn.Close()
		v.conn = nil
	}
}

func (v *service) Close() error {
	v.hangUp()
	return nil
}

func (v *service) LocalAddr() net.Addr              { return nil }
func (v *service) RemoteAddr() net.Addr             { return nil }
func (v *service) SetDeadline(time.Time) error      { return nil }
func (v *service) SetReadDeadline(time.Time) error  { return nil }
func (v *service) SetWriteDeadline(time.Time) error { return nil }
