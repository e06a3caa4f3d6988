package ipc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Call ids below zero are not calls.
const (
	callAuthFailed = -1 // response to something that had no call id yet
	callContext    = -3
	callPing       = -4
	callSASL       = -33
)

const (
	ipcVersion = 9
	kindProto  = 2 // RPC_PROTOCOL_BUFFER
	opFinal    = 0 // RPC_FINAL_PACKET

	statusSuccess = 0
	statusError   = 1
	statusFatal   = 2
)

// maxClientID bounds the client id that is echoed; Java sends 16 bytes.
const maxClientID = 128

// requestHeader is RpcRequestHeaderProto. The slices alias the frame.
type requestHeader struct {
	kind, op       uint64
	hasKind, hasOp bool
	hasCall, hasID bool
	call, retry    int32
	clientID       []byte
	callerContext  []byte
}

func (h *requestHeader) parse(b []byte) error {
	h.retry = -1
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, protowire.VarintType):
			h.kind, h.hasKind = f.v, true
		case f.is(2, protowire.VarintType):
			h.op, h.hasOp = f.v, true
		case f.is(3, protowire.VarintType):
			h.call, h.hasCall = zig(f.v), true
		case f.is(4, protowire.BytesType):
			h.clientID, h.hasID = f.data, true
		case f.is(5, protowire.VarintType):
			h.retry = zig(f.v)
		case f.is(7, protowire.BytesType):
			h.callerContext = f.data
		}
	}
	switch {
	case f.bad:
		return errMalformed
	case !h.hasCall || !h.hasID:
		return fmt.Errorf("request header without call id or client id")
	case len(h.clientID) > maxClientID:
		return fmt.Errorf("client id of %d bytes, at most %d", len(h.clientID), maxClientID)
	}
	return nil
}

// appendRequestHeader appends a length-delimited RpcRequestHeaderProto.
func appendRequestHeader(b []byte, call, retry int32, clientID []byte, callerContext string) []byte {
	n := 4 + sizeVarint(protowire.EncodeZigZag(int64(call))) + sizeData(len(clientID)) + sizeVarint(protowire.EncodeZigZag(int64(retry)))
	if callerContext != "" {
		n += sizeData(sizeData(len(callerContext)))
	}
	b = protowire.AppendVarint(b, uint64(n))
	b = append(b, 1<<3, kindProto, 2<<3, opFinal)
	b = appendZig(b, 3, call)
	b = appendData(b, 4, clientID)
	b = appendZig(b, 5, retry)
	if callerContext != "" {
		b = protowire.AppendTag(b, 7, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(sizeData(len(callerContext))))
		b = appendData(b, 1, callerContext)
	}
	return b
}

// parseCallerContext returns the text of a RPCCallerContextProto.
func parseCallerContext(b []byte) (text []byte, err error) {
	f := fields{rest: b}
	for f.next() {
		if f.is(1, protowire.BytesType) {
			text = f.data
		}
	}
	if f.bad {
		return nil, errMalformed
	}
	return text, nil
}

// target is RequestHeaderProto: which method a call is for.
type target struct {
	method, protocol []byte
	version          uint64
}

func (t *target) parse(b []byte) error {
	var has int
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			t.method, has = f.data, has|1
		case f.is(2, protowire.BytesType):
			t.protocol, has = f.data, has|2
		case f.is(3, protowire.VarintType):
			t.version, has = f.v, has|4
		}
	}
	if f.bad {
		return errMalformed
	}
	if has != 7 {
		return fmt.Errorf("call header without method, protocol or version")
	}
	return nil
}

func appendTarget(b []byte, protocol, method string, version uint64) []byte {
	n := sizeData(len(method)) + sizeData(len(protocol)) + sizeVarint(version)
	b = protowire.AppendVarint(b, uint64(n))
	b = appendData(b, 1, method)
	b = appendData(b, 2, protocol)
	return appendVarint(b, 3, version)
}

// responseHeader is RpcResponseHeaderProto.
type responseHeader struct {
	call     int32
	retry    int32
	status   uint64
	clientID []byte
	class    []byte
	message  []byte
	detail   ErrorDetail
}

// appendResponseOK appends the header of a successful response.
// compat: here a call id is the 32 bits unsigned; in a request it is zigzag.
func appendResponseOK(b []byte, call, retry int32, clientID []byte) []byte {
	n := 4 + sizeVarint(uint64(uint32(call))) + sizeData(len(clientID)) + sizeVarint(protowire.EncodeZigZag(int64(retry)))
	b = protowire.AppendVarint(b, uint64(n))
	b = appendVarint(b, 1, uint64(uint32(call)))
	b = append(b, 2<<3, statusSuccess, 3<<3, ipcVersion)
	b = appendData(b, 7, clientID)
	return appendZig(b, 8, retry)
}

// appendResponseError appends the header of an ERROR or FATAL response, which
// has no payload.
func appendResponseError(b []byte, call, retry int32, clientID []byte, e *RemoteError) []byte {
	status := byte(statusError)
	if e.Fatal {
		status = statusFatal
	}
	message := clip(e.Message, maxErrorText)
	n := 4 + sizeVarint(uint64(uint32(call))) + sizeData(len(e.Class)) + sizeData(len(message)) +
		sizeVarint(uint64(e.detail())) + sizeData(len(clientID)) + sizeVarint(protowire.EncodeZigZag(int64(retry)))
	b = protowire.AppendVarint(b, uint64(n))
	b = appendVarint(b, 1, uint64(uint32(call)))
	b = append(b, 2<<3, status, 3<<3, ipcVersion)
	b = appendData(b, 4, e.Class)
	b = appendData(b, 5, message)
	b = appendVarint(b, 6, uint64(e.detail()))
	b = appendData(b, 7, clientID)
	return appendZig(b, 8, retry)
}

func (h *responseHeader) parse(b []byte) error {
	var has int
	h.retry = -1
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, protowire.VarintType):
			h.call, has = int32(uint32(f.v)), has|1
		case f.is(2, protowire.VarintType):
			h.status, has = f.v, has|2
		case f.is(4, protowire.BytesType):
			h.class = f.data
		case f.is(5, protowire.BytesType):
			h.message = f.data
		case f.is(6, protowire.VarintType):
			h.detail = ErrorDetail(int32(f.v))
		case f.is(7, protowire.BytesType):
			h.clientID = f.data
		case f.is(8, protowire.VarintType):
			h.retry = zig(f.v)
		}
	}
	if f.bad {
		return errMalformed
	}
	if has != 3 || h.status > statusFatal {
		return fmt.Errorf("response header without call id or with an unknown status")
	}
	return nil
}

// connectionContext is IpcConnectionContextProto. The slices alias the frame.
type connectionContext struct {
	user, realUser, protocol []byte
}

func (c *connectionContext) parse(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(2, protowire.BytesType):
			if err := c.parseUser(f.data); err != nil {
				return err
			}
		case f.is(3, protowire.BytesType):
			c.protocol = f.data
		}
	}
	if f.bad {
		return errMalformed
	}
	return nil
}

func (c *connectionContext) parseUser(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			c.user = f.data
		case f.is(2, protowire.BytesType):
			c.realUser = f.data
		}
	}
	if f.bad {
		return errMalformed
	}
	return nil
}

// appendContext appends a length-delimited IpcConnectionContextProto. The
// user message is present even when both names are empty, as under TOKEN.
func appendContext(b []byte, user, realUser, protocol string) []byte {
	var u []byte
	if user != "" {
		u = appendData(u, 1, user)
	}
	if realUser != "" {
		u = appendData(u, 2, realUser)
	}
	b = protowire.AppendVarint(b, uint64(sizeData(len(u))+sizeData(len(protocol))))
	b = appendData(b, 2, u)
	return appendData(b, 3, protocol)
}
