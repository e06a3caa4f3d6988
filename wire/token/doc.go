// Package token reads and writes Hadoop's tokens, credentials and token
// identifiers, byte for byte as the Java classes do, and signs identifiers.
//
// A Token is an identifier (bytes that say who may do what), a password (the
// keyed hash of those bytes), a kind that names the identifier's format, and
// the service that it is good for. Credentials are named tokens and secrets, as
// they travel in a launch context and lie in container_tokens files.
//
// What is parsed shares memory with the bytes it was parsed from. Whoever
// verifies an identifier signs the bytes as they were received (Verify), never
// the result of parsing and appending: a newer writer may have put in fields
// that this package does not know.
//
// Every size and count that is read is bounded by the input and by the named
// limits of this package. Nothing here keeps state, apart from Signer.
package token
