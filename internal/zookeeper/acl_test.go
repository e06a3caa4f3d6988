package zookeeper

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseACL(t *testing.T) {
	for text, want := range map[string][]ACL{
		"":                     nil,
		"world:anyone:rwcda":   {{All, "world", "anyone"}},
		"world:anyone:":        {{0, "world", "anyone"}},
		" digest:rm:aGV4=:cd ": {{CreateChild | DeleteChild, "digest", "rm:aGV4="}},
		"sasl:rm:rwa, ip:127.0.0.1/8:r,": {
			{Read | Write | Admin, "sasl", "rm"}, {Read, "ip", "127.0.0.1/8"}},
	} {
		got, err := ParseACL(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
		if text == "world:anyone:rwcda" && got[0].String() != text {
			t.Errorf("written as %s", got[0])
		}
	}
	for text, want := range map[string]string{"world": "scheme:id:permissions", "world:anyone": "scheme:id:permissions", "world:anyone:rx": "'x' is no permission"} {
		if _, err := ParseACL(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseAuth(t *testing.T) {
	got, err := ParseAuth("digest:rm:pass:word, sasl:x")
	if want := []Auth{{"digest", []byte("rm:pass:word")}, {"sasl", []byte("x")}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %v", got, err)
	}
	if _, err := ParseAuth("secret"); err == nil || strings.Contains(err.Error(), "secret\"") {
		t.Fatalf("%v", err)
	}
	// The example of ZooKeeper's documentation of access lists.
	if got := Digest("super", "test"); got != "super:D/InIHSb7yEEbrWz8b9l71RjZJU=" {
		t.Fatalf("%s", got)
	}
}

func TestIndirect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acl")
	if err := os.WriteFile(file, []byte(" sasl:rm:r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"@ " + file: "sasl:rm:r", "a@b": "a@b"} {
		if got, err := Indirect(text); err != nil || got != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	if _, err := Indirect("@" + file + ".gone"); err == nil || !strings.Contains(err.Error(), file+".gone") {
		t.Errorf("%v", err)
	}
}

func TestParseAddress(t *testing.T) {
	servers, chroot, err := ParseAddress(" a:1, b ,[::1]:2/hadoop/x/")
	if want := []string{"a:1", "b:2181", "[::1]:2"}; err != nil || !reflect.DeepEqual(servers, want) || chroot != "/hadoop/x" {
		t.Fatalf("%v %q %v", servers, chroot, err)
	}
	for _, bad := range []string{"", "/x", "a:1/..", "a:1//"} {
		if servers, chroot, err := ParseAddress(bad); err == nil {
			t.Errorf("%q: %v %q", bad, servers, chroot)
		}
	}
}
