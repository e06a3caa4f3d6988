package shuffle

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
)

// algorithm is the hash of one of Java's names for a keyed hash.
func algorithm(name string) (func() hash.Hash, error) {
	switch strings.ToLower(name) {
	case "", "hmacsha1":
		return sha1.New, nil
	case "hmacsha224":
		return sha256.New224, nil
	case "hmacsha256":
		return sha256.New, nil
	case "hmacsha384":
		return sha512.New384, nil
	case "hmacsha512":
		return sha512.New, nil
	}
	return nil, fmt.Errorf("shuffle: hadoop.security.secret-manager.key-generator.algorithm=%s is not one of HmacSHA1, HmacSHA224, "+
		"HmacSHA256, HmacSHA384 and HmacSHA512", name)
}

// verify tells whether urlHash, the header UrlHash as received, signs a request
// to this port for target, and what to sign the reply with (ReplyHash).
//
// The message is the port, then path and query as the client wrote them, so that
// a signature is good for no other port and no other outputs. The reply signs
// the text of the header, not the bytes that it encodes.
func verify(newHash func() hash.Hash, key []byte, port, target, urlHash string) (replyHash string, ok bool) {
	target, _, _ = strings.Cut(target, "#")
	if !hmac.Equal(signature(newHash, key, port+target), []byte(urlHash)) {
		return "", false
	}
	return string(signature(newHash, key, urlHash)), true
}

// signature is the keyed hash of a message in base64.
func signature(newHash func() hash.Hash, key []byte, message string) []byte {
	mac := hmac.New(newHash, key)
	mac.Write([]byte(message))
	return base64.StdEncoding.AppendEncode(nil, mac.Sum(nil))
}
