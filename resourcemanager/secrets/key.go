package secrets

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
)

// Lengths of keys in bytes.
const (
	DefaultKeyLength = 32
	minKeyLength     = 8 // Hadoop's default
	maxKeyLength     = 1024
)

// Rolling says how the keys of one kind are made and replaced.
type Rolling struct {
	Interval time.Duration // between two rolls, e.g. yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
	Delay    time.Duration // between making a key and retiring the one before; see ActivationDelay
	Length   int           // bytes in a key; zero means DefaultKeyLength

	// Random fills its argument with random bytes; nil means the system's generator. It
	// is for tests.
	Random func([]byte)
}

// ActivationDelay is how long a next key waits before it becomes the current one: one
// and a half times the expiry interval of nodes or masters, so that each live one has
// sent a heartbeat meanwhile and got the key.
func ActivationDelay(expiry time.Duration) time.Duration { return expiry + expiry/2 }

// Check tells why keys cannot roll that way; property is the name of the setting of the
// interval. On an error the daemon does not start, as Apache's does not.
func (r Rolling) Check(property string) error {
	if r.Delay <= 0 {
		return fmt.Errorf("%s: the activation delay of keys is %v, derived from the expiry interval: it must be positive", property, r.Delay)
	}
	if r.Interval <= 2*r.Delay {
		return fmt.Errorf("%s is %v: it must exceed %v, twice the activation delay of %v (1.5 times the expiry interval); raise it or lower the expiry interval",
			property, r.Interval, 2*r.Delay, r.Delay)
	}
	if n := r.length(); n < minKeyLength || n > maxKeyLength {
		return fmt.Errorf("key length of %d bytes: want %d to %d", n, minKeyLength, maxKeyLength)
	}
	return nil
}

func (r Rolling) length() int {
	if r.Length == 0 {
		return DefaultKeyLength
	}
	return r.Length
}

func (r Rolling) secret() []byte {
	b := make([]byte, r.length())
	r.fill(b)
	return b
}

// serial is a random number before the first key id, so that ids of different runs
// differ.
func (r Rolling) serial() int32 {
	var b [4]byte
	r.fill(b[:])
	return int32(binary.BigEndian.Uint32(b[:]))
}

func (r Rolling) fill(b []byte) {
	if r.Random != nil {
		r.Random(b)
		return
	}
	_, _ = rand.Read(b) // never fails: it ends the process instead
}

// key is a key by which many goroutines can sign at a time.
type key struct {
	state.MasterKey
	signers sync.Pool
}

func newKey(k state.MasterKey) *key {
	out := &key{MasterKey: k}
	out.signers.New = func() any { return token.NewSigner(k.Bytes) }
	return out
}

func (k *key) sign(identifier []byte) []byte {
	s := k.signers.Get().(*token.Signer)
	defer k.signers.Put(s)
	return s.Append(make([]byte, 0, token.PasswordSize), identifier)
}

func (k *key) verify(identifier, password []byte) bool {
	s := k.signers.Get().(*token.Signer)
	defer k.signers.Put(s)
	return s.Verify(identifier, password)
}

// issue makes the token of an identifier.
func (k *key) issue(kind, service string, identifier []byte) token.Token {
	return token.Token{Identifier: identifier, Password: k.sign(identifier), Kind: kind, Service: service}
}

// invalid is the error for a token that is unknown, expired or forged.
func invalid(format string, args ...any) error {
	return &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: fmt.Sprintf(format, args...)}
}

// denied is the error for a caller who may not do that to a token.
func denied(format string, args ...any) error {
	return &ipc.RemoteError{Class: ipc.ClassAccessControl, Message: fmt.Sprintf(format, args...)}
}
