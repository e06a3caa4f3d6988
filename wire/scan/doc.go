// Package scan reads the hot requests, a node's heartbeat, a master's allocate
// call and a submission, which a restart reads again, where they lie, and appends
// the answers to the first two piece by piece. They cost a fraction of what the
// generated messages of package pb cost, and leave next to nothing to the
// collector. Everything else goes through pb.
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
