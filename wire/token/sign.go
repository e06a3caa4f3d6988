package token

import (
	"crypto/hmac"
	"crypto/sha1"
	"hash"
)

// PasswordSize is the length of a password in bytes: HMAC-SHA1, the default of
// hadoop.security.secret-manager.key-generator.algorithm.
const PasswordSize = sha1.Size

// Signer signs identifiers with one key, without preparing the key each time.
// It is not safe for concurrent use.
type Signer struct {
	mac hash.Hash
	sum [PasswordSize]byte
}

// NewSigner prepares a key. Keys of any length sign; those of Hadoop have 8 bytes.
func NewSigner(key []byte) *Signer { return &Signer{mac: hmac.New(sha1.New, key)} }

// Append appends the password of an identifier.
func (s *Signer) Append(dst, identifier []byte) []byte {
	s.mac.Reset()
	s.mac.Write(identifier)
	return s.mac.Sum(dst)
}

// Verify tells whether a password is that of an identifier as received. It
// takes the same time wherever the two differ.
func (s *Signer) Verify(identifier, password []byte) bool {
	return hmac.Equal(s.Append(s.sum[:0], identifier), password)
}

// Sign is the password of an identifier under a key.
func Sign(key, identifier []byte) []byte {
	return NewSigner(key).Append(make([]byte, 0, PasswordSize), identifier)
}

// Verify tells whether a password is that of an identifier, as received.
func Verify(key, identifier, password []byte) bool {
	return NewSigner(key).Verify(identifier, password)
}
