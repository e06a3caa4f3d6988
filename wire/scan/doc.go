// Package scan reads three hot messages in place: a node's heartbeat, a master's
// allocate call, and the context of a submission, which a restart reads again
// from the store. It also writes the answers to heartbeats and allocate calls,
// piece by piece. This costs a fraction of what the generated messages of package
// pb cost, and leaves next to nothing to the collector. Everything else goes
// through pb.
//
// A scanner takes exactly what the protobuf runtime takes: fields in any order,
// the last of several values, messages that come in parts, unknown fields and
// enum values. It looks only into the fields that the ResourceManager uses, and
// skips the others whole; whatever is malformed in those it looks into is an
// error. The tests compare it with package pb, both ways.
//
// What is scanned may alias the request, as told at each field; it is good as
// long as the request is.
package scan
