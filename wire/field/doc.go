// Package field reads and appends protobuf fields in place, where generated
// code is too slow (hot requests) or does not keep the exact bytes (identifiers
// inside tokens). It accepts what every protobuf runtime accepts. It sets no
// bounds: its callers bound the size of a message before they read it.
package field
