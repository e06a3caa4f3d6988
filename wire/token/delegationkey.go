package token

import "fmt"

// DelegationKey is a key that signs delegation tokens, as the state store keeps it.
type DelegationKey struct {
	ID      int32
	Expires int64  // milliseconds since 1970; no token signed with it outlives that
	Key     []byte // nil once it has been forgotten
}

// noBytes is the length that stands for a key without bytes.
const noBytes = -1

// Append appends the Writable form: id, expiry, and the bytes with their length.
func (k DelegationKey) Append(dst []byte) []byte {
	dst = AppendVInt(dst, int64(k.ID))
	dst = AppendVInt(dst, k.Expires)
	if k.Key == nil {
		return AppendVInt(dst, noBytes)
	}
	return appendBytes(dst, k.Key)
}

// ParseDelegationKey reads the Writable form. The key shares memory with b.
func ParseDelegationKey(b []byte) (DelegationKey, error) {
	r := reader{rest: b}
	k := DelegationKey{ID: r.int32("id"), Expires: r.long("expiry")}
	if v, n, err := ReadVInt(r.rest); r.err == nil && err == nil && v == noBytes {
		r.rest = r.rest[n:]
	} else {
		k.Key = r.bytes("key")
	}
	if r.err != nil {
		return DelegationKey{}, fmt.Errorf("reading a delegation key: %w", r.err)
	}
	return k, nil
}
