package ipc

import "google.golang.org/protobuf/encoding/protowire"

// metaName is served on every port. YARN's clients never call it; Hadoop's
// generic ones ask it which protocols and methods a port has.
const metaName = "org.apache.hadoop.ipc.ProtocolMetaInfoPB"

const kindProtoName = "RPC_PROTOCOL_BUFFER"

func (s *Server) metaProtocol() Protocol {
	return Protocol{Name: metaName, Version: 1, Methods: map[string]Handler{
		"getProtocolVersions":  s.protocolVersions,
		"getProtocolSignature": s.protocolSignature,
	}}
}

// protocolVersions answers with the one RPC kind that is served. An unknown
// protocol has no versions.
func (s *Server) protocolVersions(c *Call) {
	protocol, _, err := metaRequest(c.Body)
	if err != nil {
		c.Fail(err)
		return
	}
	var answer []byte
	if v := s.table.Load().services[protocol]; v != nil {
		entry := appendData(nil, 1, kindProtoName)
		answer = appendData(answer, 1, appendVarint(entry, 2, v.version))
	}
	c.Reply(answer)
}

func (s *Server) protocolSignature(c *Call) {
	protocol, kind, err := metaRequest(c.Body)
	if err != nil {
		c.Fail(err)
		return
	}
	v := s.table.Load().services[protocol]
	if v == nil || kind != kindProtoName {
		c.Reply(nil)
		return
	}
	if v.signatures != nil {
		entry := appendVarint(nil, 1, v.version)
		for _, m := range v.signatures {
			entry = appendVarint(entry, 2, uint64(m))
		}
		c.Reply(appendData(nil, 1, entry))
		return
	}
	c.Fail(&RemoteError{Class: ClassUnsupported, Message: "the Java method signatures of " + v.name + " are not known here; call the method and see"})
}

// metaRequest reads either request: the protocol, and the RPC kind if asked.
func metaRequest(b []byte) (protocol, kind string, err error) {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			protocol = string(f.data)
		case f.is(2, protowire.BytesType):
			kind = string(f.data)
		}
	}
	if f.bad || protocol == "" {
		return "", "", &RemoteError{Class: ClassServer, Detail: ErrorRPCServer, Message: "malformed request: no protocol"}
	}
	return protocol, kind, nil
}
