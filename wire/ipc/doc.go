// Package ipc speaks Hadoop RPC version 9, as a server and as a client.
//
// A connection starts with seven bytes (magic, version, service class,
// authentication protocol), authenticates by SASL or not at all, sends one
// connection context, and then carries calls. Every message is a frame: a
// 32-bit big-endian length, a length-delimited protobuf header, a payload.
// Replies come in any order and are matched by call id.
//
// The package scans and builds the protobuf headers in place and knows
// nothing of what the calls carry: request and response messages are bytes.
//
// Server side: [Listen] binds a port for one or more [Protocol] tables. Each
// connection has one goroutine, which reads a frame and runs its [Handler] to
// the end; a handler that cannot answer at once keeps the [Call] and answers
// it later. Writing never blocks a handler: what the socket does not take
// waits in a bounded queue, and a peer that does not read is disconnected.
//
// Client side: [Client] pools connections by address, protocol and identity
// and keeps many calls in flight on each. [Group] calls one of several
// addresses with Hadoop's retry and failover rules.
//
// Authentication: SIMPLE, and TOKEN by DIGEST-MD5 with quality of protection
// "auth". Integrity, privacy and KERBEROS are refused by name.
//
// The classes that show the protocol in Apache's sources are ipc.Server,
// ipc.Client, ipc.ProtobufRpcEngine2, security.SaslRpcServer and
// security.SaslRpcClient.
package ipc
