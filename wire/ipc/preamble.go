package ipc

import (
	"encoding/binary"
	"fmt"
	"time"
)

const (
	preambleSize = 7
	authNone     = 0x00
	authSASL     = 0xdf
)

// httpAnswer is what a browser or probe gets that mistakes the port for HTTP.
const httpAnswer = "HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n" +
	"This is a Hadoop RPC port. Its web pages are on another port.\r\n"

// refusal is a FATAL answer: it is sent and the connection ends.
type refusal struct {
	call, retry int32
	answer      *RemoteError
	raw         []byte // instead of answer: bytes outside the framing
}

func (r *refusal) Error() string {
	if r.raw != nil {
		return "foreign protocol"
	}
	return r.answer.Error()
}

// refuse answers the request with header h, as far as it was understood.
func refuse(h *requestHeader, e *RemoteError) *refusal {
	call, retry := h.call, h.retry
	if !h.hasCall {
		call, retry = callAuthFailed, -1
	}
	return &refusal{call: call, retry: retry, answer: e}
}

// preamble reads the seven bytes before the first frame.
func (c *conn) preamble() error {
	if err := c.in.need(preambleSize); err != nil {
		return err
	}
	p := [preambleSize]byte(c.in.buffered())
	c.in.r += preambleSize
	if len(c.in.buffered()) == 0 {
		c.in.drop()
	}
	if raw := foreign(p); raw != nil {
		return &refusal{raw: raw}
	}
	none := &requestHeader{}
	if string(p[:4]) != "hrpc" || p[4] != ipcVersion {
		return refuse(none, versionMismatch(p[4]))
	}
	switch p[6] {
	case authNone:
		if !c.server.offers(MethodSimple) {
			return refuse(none, fatal(ClassAccessControl, FatalUnauthorized, c.server.notEnabled(MethodSimple)))
		}
		c.auth = authentication{stage: stageContext, method: MethodSimple}
	case authSASL:
		c.auth = authentication{stage: stageSASL}
	default:
		return refuse(none, fatal(ClassIPC, FatalUnauthorized, fmt.Sprintf("Unknown auth protocol:%d", int8(p[6]))))
	}
	return nil
}

func versionMismatch(version byte) *RemoteError {
	return fatal(ClassVersionMismatch, FatalVersionMismatch,
		fmt.Sprintf("Server IPC version %d cannot communicate with client version %d", ipcVersion, version))
}

// foreign is the answer to a peer that does not understand version 9's
// framing: a web browser, or a Hadoop client older than 2.1.
func foreign(p [preambleSize]byte) []byte {
	if string(p[:4]) == "GET " {
		return []byte(httpAnswer)
	}
	if string(p[:4]) != "hrpc" || p[4] < 2 || p[4] >= ipcVersion {
		return nil
	}
	e := versionMismatch(p[4])
	var b []byte
	if p[4] == 2 {
		b = append(b, 0, 0, 0, 0, 1)
	} else {
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	}
	for _, s := range []string{e.Class, e.Message} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}

// refuse sends the last answer of a connection and takes care that it
// arrives: closing a socket with unread input would reset it and could
// destroy the answer, so input is thrown away for a moment.
func (c *conn) refuse(r *refusal) {
	if a := r.answer; a != nil && a.Detail == FatalUnauthorized && a.Class != ClassStandby {
		c.server.stats.authFailed.Add(1)
		c.server.log.Warn("authentication failed", "remote", c.remote, "class", a.Class, "message", printable(a.Message))
	} else {
		c.server.log.Debug("connection refused", "remote", c.remote, "error", r)
	}
	b, ok := c.out.begin(0)
	if !ok {
		return
	}
	if r.raw != nil {
		b = append(b, r.raw...)
	} else {
		var at int
		b, at = openFrame(b)
		b = closeFrame(appendResponseError(b, r.call, r.retry, nil, r.answer), at)
	}
	c.out.corked = false
	c.out.end(b, false)
	c.out.flushed()
	c.linger()
}

// linger closes the writing half and reads until the peer closes.
func (c *conn) linger() {
	const (
		patience = time.Second
		most     = 1 << 20
	)
	half, ok := c.sock.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.sock.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	b := newBuffer()
	defer b.free()
	for n := 0; n < most; {
		k, err := c.sock.Read(b.b[:cap(b.b)])
		if err != nil {
			return
		}
		n += k
	}
}
