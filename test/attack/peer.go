package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The protocols' names on the wire.
const (
	clientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	masterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	adminProtocol   = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
)

// peer is one RPC connection by simple authentication whose owner decides when bytes are sent and when they are read. It is written
// down here, apart from wire/ipc, so that it can do what a well-behaved client cannot.
type peer struct {
	net.Conn
	protocol string
	in       *bufio.Reader
	calls    int32
}

// dial connects and logs in as a user.
func dial(address, protocol, user string) (*peer, error) {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	p := &peer{Conn: c, protocol: protocol, in: bufio.NewReaderSize(c, 64<<10)}
	named := message(2, message(1, []byte(user)))
	named = append(named, message(3, []byte(protocol))...)
	hello := append([]byte("hrpc\x09\x00\x00"), frame(header(-3), delimited(named))...)
	if _, err := c.Write(hello); err != nil {
		c.Close()
		return nil, err
	}
	return p, nil
}

// request is the frame of one call; each has the next call id.
func (p *peer) request(method string, in proto.Message) []byte {
	body, err := proto.Marshal(in)
	if err != nil {
		panic(err) // the drivers' own messages
	}
	return p.requestBytes(method, body)
}

func (p *peer) requestBytes(method string, body []byte) []byte {
	target := message(1, []byte(method))
	target = append(target, message(2, []byte(p.protocol))...)
	target = protowire.AppendVarint(protowire.AppendTag(target, 3, protowire.VarintType), 1)
	p.calls++
	return frame(header(p.calls-1), delimited(target), delimited(body))
}

// answer is the response to one call.
type answer struct {
	call  int32
	class string // of the exception, or empty
	text  string
	size  int // bytes of the frame
	body  []byte
}

// read takes the next answer from the connection.
func (p *peer) read() (answer, error) {
	var n [4]byte
	if _, err := io.ReadFull(p.in, n[:]); err != nil {
		return answer{}, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(p.in, b); err != nil {
		return answer{}, err
	}
	a := answer{size: len(b) + 4}
	head, k := protowire.ConsumeBytes(b)
	if k < 0 {
		return a, fmt.Errorf("an answer without a header")
	}
	a.body = b[k:]
	for len(head) > 0 {
		field, kind, k := protowire.ConsumeTag(head)
		if k < 0 {
			return a, fmt.Errorf("a malformed header: %w", protowire.ParseError(k))
		}
		m := protowire.ConsumeFieldValue(field, kind, head[k:])
		if m < 0 {
			return a, fmt.Errorf("a malformed header: %w", protowire.ParseError(m))
		}
		switch value := head[k : k+m]; field {
		case 1:
			v, _ := protowire.ConsumeVarint(value)
			a.call = int32(uint32(v))
		case 4:
			v, _ := protowire.ConsumeBytes(value)
			a.class = string(v)
		case 5:
			v, _ := protowire.ConsumeBytes(value)
			a.text = string(v)
		}
		head = head[k+m:]
	}
	return a, nil
}

// call sends one request and waits for its answer; an exception is an error. Nothing else may be under way.
func (p *peer) call(method string, in, out proto.Message) error {
	if err := p.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return err
	}
	if _, err := p.Write(p.request(method, in)); err != nil {
		return err
	}
	a, err := p.read()
	if err != nil {
		return err
	}
	if a.class != "" {
		return fmt.Errorf("%s: %s", a.class, a.text)
	}
	body, k := protowire.ConsumeBytes(a.body)
	if k < 0 {
		return fmt.Errorf("the answer of %s has no message", method)
	}
	return proto.Unmarshal(body, out)
}

func header(call int32) []byte {
	b := []byte{1 << 3, 2, 2 << 3, 0}
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), protowire.EncodeZigZag(int64(call)))
	b = append(b, message(4, []byte("0123456789abcdef"))...)
	return delimited(b)
}

func message(field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), b)
}

func delimited(b []byte) []byte { return protowire.AppendBytes(nil, b) }

func frame(parts ...[]byte) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
