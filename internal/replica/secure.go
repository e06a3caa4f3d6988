package replica

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// Bounds of a secret, in bytes.
const (
	minSecret = 32
	maxSecret = 4096
)

// ReadSecret reads the secret that all members share. Spaces at the ends do not count.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others may read or write %s (its mode is %04o): whoever knows the secret may change what is stored; give it mode 0600", path, info.Mode().Perm())
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", path, maxSecret)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if b = bytes.TrimSpace(b); len(b) < minSecret {
		return nil, fmt.Errorf("the secret in %s has %d bytes, and must have %d at least: make one with `openssl rand -hex 32`", path, len(b), minSecret)
	}
	return b, nil
}

// security is TLS 1.3 in which both sides prove that they know the secret: its key is made of it, and there is no other certificate
// that either of them takes.
func security(secret []byte) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "heddle replica", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // there is no authority: VerifyConnection takes the one key alone
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 {
				if theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok && theirs.Equal(public) {
					return nil
				}
			}
			return errSecret
		},
	}, nil
}

var errSecret = errors.New("the other side does not have this member's secret")
