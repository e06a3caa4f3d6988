package zookeeper

import (
	"crypto/sha1" //nolint:gosec // ZooKeeper's digest scheme is defined by it
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ACL is one entry of a node's access list.
type ACL struct {
	Perms      Perms
	Scheme, ID string
}

// Perms are bits of what may be done with a node.
type Perms int32

// The permissions, as on the wire.
const (
	Read Perms = 1 << iota
	Write
	CreateChild
	DeleteChild
	Admin // change the access list
	All   = Read | Write | CreateChild | DeleteChild | Admin
)

const letters = "rwcda" // by bit

func (p Perms) String() string {
	var b strings.Builder
	for i, letter := range letters {
		if p&(1<<i) != 0 {
			b.WriteRune(letter)
		}
	}
	return b.String()
}

func (a ACL) String() string { return a.Scheme + ":" + a.ID + ":" + a.Perms.String() }

// Anyone may do everything.
func Anyone() []ACL { return []ACL{{All, "world", "anyone"}} }

// Digest is the id that the digest scheme keeps of a user and a password. Of a user with
// a colon in it, such as an address, it has what is before the colon.
func Digest(user, password string) string {
	sum := sha1.Sum([]byte(user + ":" + password)) //nolint:gosec // see above
	user, _, _ = strings.Cut(user, ":")
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// Auth is a credential that a session presents, such as scheme digest with user:password.
type Auth struct {
	Scheme string
	Secret []byte
}

// maxSecret bounds a file named by @.
const maxSecret = 64 << 10

// Indirect returns what a property means: itself, or for @path the trimmed content of
// the file (hadoop.zk.acl, hadoop.zk.auth).
func Indirect(value string) (string, error) {
	path, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	path = strings.TrimSpace(path)
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSecret {
		err = fmt.Errorf("%d bytes are more than %d", info.Size(), maxSecret)
	}
	if err != nil {
		return "", fmt.Errorf("the file named by @: %w", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file named by @: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// ParseACL reads an access list as Hadoop writes it: scheme:id:perms, separated by
// commas; perms are of rwcda. Empty text is an empty list.
func ParseACL(text string) ([]ACL, error) {
	var out []ACL
	for _, entry := range fields(text) {
		first, last := strings.IndexByte(entry, ':'), strings.LastIndexByte(entry, ':')
		if first < 0 || first == last {
			return nil, fmt.Errorf("%q is not scheme:id:permissions", entry)
		}
		perms, err := parsePerms(entry[last+1:])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		out = append(out, ACL{perms, entry[:first], entry[first+1 : last]})
	}
	return out, nil
}

func parsePerms(text string) (p Perms, err error) {
	for _, c := range text {
		i := strings.IndexRune(letters, c)
		if i < 0 {
			return 0, fmt.Errorf("%q is no permission, expected some of %s", c, letters)
		}
		p |= 1 << i
	}
	return p, nil
}

// ParseAuth reads credentials as Hadoop writes them: scheme:secret, separated by commas.
// Its errors do not show the secrets.
func ParseAuth(text string) ([]Auth, error) {
	var out []Auth
	for _, entry := range fields(text) {
		scheme, secret, ok := strings.Cut(entry, ":")
		if !ok {
			return nil, errors.New("a credential is not scheme:secret")
		}
		out = append(out, Auth{scheme, []byte(secret)})
	}
	return out, nil
}

func fields(text string) (out []string) {
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}
