package token

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// All vectors were made with Hadoop 3.5.0's classes, for attempt 1 of
// application_1700000000000_0007 and the key 01 02 … 08.
var (
	vectorKey     = unhex("0102030405060708")
	vectorAttempt = yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}, Attempt: 1}
	vectorTypes   = yarn.BasicResourceTypes()
	vectorToken   = Token{
		Identifier: unhex("0a0d0a0908071080d095ffbc311001102a"),
		Password:   unhex("d292fa3ff0acd37b7f68942b01bcc440c695a1a2"),
		Kind:       KindAMRM, Service: "10.0.0.1:8030",
	}
)

const (
	vectorWritable = "110a0d0a0908071080d095ffbc311001102a14d292fa3ff0acd37b7f68942b01bcc440c695a1a2" +
		"105941524e5f414d5f524d5f544f4b454e0d31302e302e302e313a38303330"
	vectorURL = "EQoNCgkIBxCA0JX_vDEQARAqFNKS-j_wrNN7f2iUKwG8xEDGlaGiEFlBUk5fQU1fUk1fVE9LRU4NMTAuMC4wLjE6ODAzMA"
	// vectorProto is the same token as TokenProto.
	vectorProto = "0a110a0d0a0908071080d095ffbc311001102a1214d292fa3ff0acd37b7f68942b01bcc440c695a1a2" +
		"1a105941524e5f414d5f524d5f544f4b454e220d31302e302e302e313a38303330"
	vectorCredentials0 = "4844545300" + "01" + "02616d" + vectorWritable + "01" + "016b" + "03090807"
	vectorCredentials1 = "4844545301" + "5c" + "0a50" + "0a02616d" + "124a" + vectorProto + "1208" + "0a016b" + "1a03090807"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func vectorContainer() Container {
	return Container{
		ID: yarn.ContainerID{Attempt: vectorAttempt, Number: 2}, NodeAddress: "node1:45454", Submitter: "alice",
		Resource: yarn.NewResource(1024, 1), Expires: 1700000600000, KeyID: 44, Issuer: 1700000000000, Priority: 5,
		Created: 1700000000500, AllocationRequestID: -1,
	}
}

func TestVInt(t *testing.T) {
	for _, c := range []struct {
		value int64
		hex   string
	}{
		{0, "00"}, {127, "7f"}, {128, "8f80"}, {255, "8fff"}, {256, "8e0100"}, {65535, "8effff"},
		{1700000000000, "8a018bcfe56800"}, {-1, "ff"}, {-112, "90"}, {-113, "8770"},
		{1<<63 - 1, "887fffffffffffffff"}, {-1 << 63, "807fffffffffffffff"},
	} {
		if got := hex.EncodeToString(AppendVInt(nil, c.value)); got != c.hex {
			t.Errorf("AppendVInt(%d) = %s, want %s", c.value, got, c.hex)
		}
		v, n, err := ReadVInt(append(unhex(c.hex), 0x55))
		if err != nil || v != c.value || n != len(c.hex)/2 {
			t.Errorf("ReadVInt(%s) = %d, %d, %v, want %d", c.hex, v, n, err, c.value)
		}
		if _, _, err := ReadVInt(unhex(c.hex)[:len(c.hex)/2-1]); err == nil {
			t.Errorf("ReadVInt accepts %s without its last byte", c.hex)
		}
	}
}

func TestTokenForms(t *testing.T) {
	if got := hex.EncodeToString(vectorToken.Append(nil)); got != vectorWritable {
		t.Errorf("Writable form is %s, want %s", got, vectorWritable)
	}
	if got := vectorToken.URL(); got != vectorURL {
		t.Errorf("URL form is %s, want %s", got, vectorURL)
	}
	if got := hex.EncodeToString(vectorToken.AppendProto(nil)); got != vectorProto {
		t.Errorf("protobuf form is %s, want %s", got, vectorProto)
	}
	parsed, rest, err := Parse(unhex(vectorWritable + "77"))
	if err != nil || !same(parsed, vectorToken) || !bytes.Equal(rest, []byte{0x77}) {
		t.Errorf("Parse = %+v, rest %x, %v", parsed, rest, err)
	}
	if parsed, err := ParseProto(unhex(vectorProto)); err != nil || !same(parsed, vectorToken) {
		t.Errorf("ParseProto = %+v, %v", parsed, err)
	}
}

func same(a, b Token) bool {
	return bytes.Equal(a.Identifier, b.Identifier) && bytes.Equal(a.Password, b.Password) && a.Kind == b.Kind && a.Service == b.Service
}

func TestCredentialsForms(t *testing.T) {
	want := Credentials{
		Tokens:  []NamedToken{{"am", vectorToken}},
		Secrets: []Secret{{"k", unhex("090807")}},
	}
	if got := hex.EncodeToString(want.Append(nil)); got != vectorCredentials0 {
		t.Errorf("format 0 is %s, want %s", got, vectorCredentials0)
	}
	for _, text := range []string{vectorCredentials0, vectorCredentials1, vectorCredentials0 + "0000", vectorCredentials1 + "00"} {
		got, err := ParseCredentials(unhex(text))
		if err != nil || len(got.Tokens) != 1 || got.Tokens[0].Alias != "am" || !same(got.Tokens[0].Token, vectorToken) ||
			len(got.Secrets) != 1 || got.Secrets[0].Alias != "k" || !bytes.Equal(got.Secrets[0].Value, unhex("090807")) {
			t.Errorf("ParseCredentials(%s) = %+v, %v", text, got, err)
		}
	}
	empty := Credentials{}
	if got := hex.EncodeToString(empty.Append(nil)); got != "48445453000000" {
		t.Errorf("empty credentials are %s", got)
	}
	padded := append(empty.Append(nil), make([]byte, 25)...)
	if got, err := ParseCredentials(padded); err != nil || len(got.Tokens)+len(got.Secrets) != 0 {
		t.Errorf("padded empty credentials: %+v, %v", got, err)
	}
}

func TestAMRMCredentialsOfAnAttempt(t *testing.T) {
	unaddressed := vectorToken
	unaddressed.Service = ""
	var c Credentials
	c.SetToken("", unaddressed)
	want := "4844545300" + "01" + "00" + "11" + hex.EncodeToString(vectorToken.Identifier) + "14" + hex.EncodeToString(vectorToken.Password) +
		"10" + hex.EncodeToString([]byte(KindAMRM)) + "00" + "00"
	if got := hex.EncodeToString(c.Append(nil)); got != want {
		t.Errorf("credentials are %s, want %s", got, want)
	}
}

// vectors are identifiers in every kind with their bytes and passwords.
var vectors = []struct {
	what       string
	id         interface{ Append([]byte) []byte }
	identifier string
	password   string
}{
	{"AMRM", AMRM{vectorAttempt, 42},
		"0a0d0a0908071080d095ffbc311001102a", "d292fa3ff0acd37b7f68942b01bcc440c695a1a2"},
	{"AMRM, negative key", AMRM{vectorAttempt, -5},
		"0a0d0a0908071080d095ffbc31100110fbffffffffffffffff01", "cfa19107f480a51c95a8fbf8ac73474565dfa816"},
	{"NM", NM{vectorAttempt, yarn.NodeID{Host: "node1", Port: 45454}, "alice", 43},
		"0a0d0a0908071080d095ffbc311001120b0a056e6f646531108ee3021a05616c696365202b", "ad9da1f4401b19d0e597ef683407f59f2f30d73e"},
	{"container", inTypes{vectorContainer(), vectorTypes},
		"0a11120d0a0908071080d095ffbc3110011802120b6e6f6465313a34353435341a05616c696365222b08800810011a140a096d656d6f72792d6d62" +
			"1080081a024d6920001a0e0a0676636f72657310011a00200028c09fbaffbc31302c3880d095ffbc314202080548f4d395ffbc315a0060026801" +
			"700078ffffffffffffffffff01", "93fe60942fa7914790f31a368a7fb9805da5b26c"},
	{"delegation", Delegation{"alice", "yarn", "oozie", 1700000000000, 1700604800000, 9, 3},
		"0a05616c69636512047961726e1a056f6f7a69652080d095ffbc312880d8c79fbf3130093803", "df7c9d0907badc88b837138ce679ae2efb2c11b5"},
	{"delegation, no real user", Delegation{"alice", "yarn", "", 1700000000000, 1700604800000, 9, 3},
		"0a05616c69636512047961726e2080d095ffbc312880d8c79fbf3130093803", "843a753cea2967453eecda81351b37c5b647ca71"},
	{"timeline", Delegation{"alice", "yarn", "", 1, 2, 1, 1},
		"0a05616c69636512047961726e2001280230013801", "3c815dbcb64887a07fec49e152dc3d7fcb92cbe0"},
	{"localizer", raw("\x00\x00\x00\x01"), "00000001", "ca4e70c60facb3c7dc5a6b58180779a6633c77e9"},
}

type inTypes struct {
	Container
	types yarn.ResourceTypes
}

func (c inTypes) Append(dst []byte) []byte { return c.Container.Append(dst, c.types) }

type raw string

func (r raw) Append(dst []byte) []byte { return append(dst, r...) }

func TestIdentifierVectors(t *testing.T) {
	signer := NewSigner(vectorKey)
	for _, v := range vectors {
		identifier, password := unhex(v.identifier), unhex(v.password)
		if got := v.id.Append(nil); !bytes.Equal(got, identifier) {
			t.Errorf("%s: identifier %x, want %x", v.what, got, identifier)
		}
		if got := Sign(vectorKey, identifier); !bytes.Equal(got, password) {
			t.Errorf("%s: password %x, want %x", v.what, got, password)
		}
		if !Verify(vectorKey, identifier, password) || !signer.Verify(identifier, password) {
			t.Errorf("%s: its password does not verify", v.what)
		}
		password[3] ^= 1
		if Verify(vectorKey, identifier, password) || signer.Verify(identifier, password[:19]) || signer.Verify(identifier, nil) {
			t.Errorf("%s: a wrong password verifies", v.what)
		}
	}
}

func TestParseIdentifierVectors(t *testing.T) {
	for _, v := range vectors {
		var got any
		var err error
		b := unhex(v.identifier)
		switch want := v.id.(type) {
		case AMRM:
			got, err = ParseAMRM(b)
		case NM:
			got, err = ParseNM(b)
		case Delegation:
			got, err = ParseDelegation(b)
		case inTypes:
			var c Container
			c, err = ParseContainer(b, vectorTypes)
			if err != nil || !bytes.Equal(c.Append(nil, vectorTypes), b) {
				t.Errorf("%s: parsed %+v, %v", v.what, c, err)
			}
			if c.ID != want.ID || c.Resource != want.Resource || c.Priority != 5 || c.Master || c.KeyID != 44 || c.LogContext != nil {
				t.Errorf("%s: parsed %+v", v.what, c)
			}
			continue
		default:
			continue
		}
		if err != nil || got != v.id {
			t.Errorf("%s: parsed %+v, %v, want %+v", v.what, got, err, v.id)
		}
	}
}
