package token

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/yarn"
)

var gpuTypes = append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "yarn.io/gpu"}, yarn.ResourceType{Name: "storage", Units: "Gi"})

func drawAttempt(t *rapid.T) yarn.AttemptID {
	return yarn.AttemptID{
		Application: yarn.ApplicationID{ClusterTimestamp: rapid.Int64Min(1).Draw(t, "timestamp"), Sequence: rapid.Int32().Draw(t, "sequence")},
		Attempt:     rapid.Int32().Draw(t, "attempt"),
	}
}

func TestContainerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Container{
			ID:          yarn.ContainerID{Attempt: drawAttempt(t), Number: rapid.Int64().Draw(t, "number")},
			NodeAddress: rapid.String().Draw(t, "address"), Submitter: rapid.String().Draw(t, "user"),
			Resource: yarn.NewResource(rapid.Int64().Draw(t, "memory"), int64(rapid.Int32().Draw(t, "vcores"))),
			Expires:  rapid.Int64().Draw(t, "expires"), KeyID: rapid.Int32().Draw(t, "key"), Issuer: rapid.Int64().Draw(t, "issuer"),
			Priority: rapid.Int32().Draw(t, "priority"), Created: rapid.Int64().Draw(t, "created"),
			LogContext: rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "logs"), Label: rapid.String().Draw(t, "label"),
			Master: rapid.Bool().Draw(t, "master"), ExecutionType: yarn.ExecutionType(rapid.IntRange(0, 1).Draw(t, "execution")),
			Version: rapid.Int32().Draw(t, "version"), AllocationRequestID: rapid.Int64().Draw(t, "request"),
			AllocationTags: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "tags"),
		}
		want.Resource[2], want.Resource[3] = rapid.Int64().Draw(t, "gpu"), rapid.Int64().Draw(t, "storage")
		got, err := ParseContainer(want.Append(nil, gpuTypes), gpuTypes)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("parsed %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestCredentialsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want Credentials
		for n := rapid.IntRange(0, 5).Draw(t, "tokens"); n > 0; n-- {
			want.SetToken(rapid.StringN(0, 3, 20).Draw(t, "alias"), Token{
				Identifier: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "identifier"), Password: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "password"),
				Kind: rapid.String().Draw(t, "kind"), Service: rapid.String().Draw(t, "service")})
		}
		for n := rapid.IntRange(0, 5).Draw(t, "secrets"); n > 0; n-- {
			want.SetSecret(rapid.StringN(0, 3, 20).Draw(t, "alias"), rapid.SliceOf(rapid.Byte()).Draw(t, "secret"))
		}
		b := want.Append(nil)
		got, err := ParseCredentials(b)
		if err != nil || !bytes.Equal(got.Append(nil), b) {
			t.Fatalf("parsed %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestCredentialsByAlias(t *testing.T) {
	var c Credentials
	c.SetToken("a", Token{Kind: "one"})
	c.SetToken("b", Token{Kind: "two"})
	c.SetToken("a", Token{Kind: "three"})
	c.SetSecret("s", []byte{1})
	c.SetSecret("s", []byte{2})
	if got, ok := c.Token("a"); !ok || got.Kind != "three" || len(c.Tokens) != 2 {
		t.Errorf("token a is %+v in %+v", got, c.Tokens)
	}
	if _, ok := c.Token("c"); ok {
		t.Error("found a token that is not there")
	}
	if got, ok := c.OfKind("two"); !ok || got.Kind != "two" {
		t.Errorf("token of kind two is %+v", got)
	}
	if got, ok := c.Secret("s"); !ok || got[0] != 2 || len(c.Secrets) != 1 {
		t.Errorf("secret s is %v", got)
	}
}

func TestDuplicateAliasLastCounts(t *testing.T) {
	one, two := Token{Kind: "one"}, Token{Kind: "two"}
	b := []byte("HDTS\x00\x02\x01a")
	b = append(one.Append(b), "\x01a"...)
	b = append(two.Append(b), "\x02\x01s\x01\x01\x01s\x01\x02"...)
	c, err := ParseCredentials(b)
	if err != nil || len(c.Tokens) != 1 || c.Tokens[0].Token.Kind != "two" || len(c.Secrets) != 1 || c.Secrets[0].Value[0] != 2 {
		t.Errorf("parsed %+v, %v", c, err)
	}
}

func TestRefusedCredentials(t *testing.T) {
	for text, reason := range map[string]string{
		"":                             "not a token storage stream",
		"HDTS":                         "not a token storage stream",
		"HDTX\x00\x00\x00":             "not a token storage stream",
		"HDTS\x02\x00\x00":             "format 2 is unknown",
		"HDTS\x00":                     "number of tokens: input ends early",
		"HDTS\x00\x7f":                 "number of tokens: length",
		"HDTS\x00\xff":                 "number of tokens: length",
		"HDTS\x00\x88\x7f\xff\xff\xff": "number of tokens: input ends early",
		"HDTS\x00\x88\x7f\xff\xff\xff\xff\xff\xff\xff": "does not fit in 32 bits",
		"HDTS\x00\x00\x01\x01a\x05b":                   "secret: length",
		"HDTS\x00\x01\x00\xff\x00\x00\x00\x00":         "identifier: length",
		"HDTS\x01":                                     "EOF",
		"HDTS\x01\x02\x0a\x00":                         "field 1: a required field is missing",
		"HDTS\x01\x04\x12\x02\x1a\x00":                 "field 2: a required field is missing",
	} {
		if _, err := ParseCredentials([]byte(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("ParseCredentials(%q): %v, want %q", text, err, reason)
		}
	}
	if _, err := ParseCredentials(make([]byte, MaxCredentials+1)); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("too many bytes: %v", err)
	}
	many := append([]byte("HDTS\x00\x00"), AppendVInt(nil, MaxSecrets+1)...)
	if _, err := ParseCredentials(append(many, make([]byte, 3*MaxSecrets)...)); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("too many secrets: %v", err)
	}
}

func TestRefusedTokens(t *testing.T) {
	for n := range len(vectorWritable) / 2 {
		if _, _, err := Parse(unhex(vectorWritable)[:n]); err == nil {
			t.Errorf("accepts a token cut after %d bytes", n)
		}
	}
	if _, err := ParseProto(unhex(vectorProto)[:60]); err == nil {
		t.Error("accepts a TokenProto that is cut")
	}
	if _, err := ParseProto([]byte("\x0a\x00\x12\x00\x1a\x00")); err == nil {
		t.Error("accepts a TokenProto without service")
	}
}

func TestRefusedIdentifiers(t *testing.T) {
	large := append(AMRM{vectorAttempt, 1}.Append(nil), field.AppendBytes(nil, 99, make([]byte, MaxIdentifier))...)
	for _, c := range []struct{ what, text string }{
		{"nothing", ""}, {"key alone", "\x10\x2a"}, {"attempt of the wrong type", "\x08\x01"},
		{"cut", "\x0a\x0d\x0a\x09"}, {"bad tag", "\x07"}, {"too large", string(large)},
	} {
		b := []byte(c.text)
		if _, err := ParseAMRM(b); err == nil {
			t.Errorf("ParseAMRM accepts %s", c.what)
		}
		if _, err := ParseNM(b); err == nil {
			t.Errorf("ParseNM accepts %s", c.what)
		}
		if _, err := ParseContainer(b, vectorTypes); err == nil {
			t.Errorf("ParseContainer accepts %s", c.what)
		}
	}
	if _, err := ParseDelegation(large); err == nil {
		t.Error("ParseDelegation accepts too many bytes")
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	b := field.AppendText(field.AppendInt(AMRM{vectorAttempt, 9}.Append(nil), 77, 1), 78, "later")
	if got, err := ParseAMRM(b); err != nil || got != (AMRM{vectorAttempt, 9}) {
		t.Errorf("parsed %+v, %v", got, err)
	}
}

func TestResourceUnits(t *testing.T) {
	writer := append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "storage", Units: "Ti"}, yarn.ResourceType{Name: "unknown"})
	c := vectorContainer()
	c.Resource[2], c.Resource[3] = 3, 4
	got, err := ParseContainer(c.Append(nil, writer), gpuTypes)
	if err != nil || got.Resource != (yarn.Resource{1024, 1, 0, 3 << 10}) {
		t.Errorf("parsed %v, %v", got.Resource, err)
	}
	for _, bad := range []string{"furlong", "P"} {
		writer[2].Units = bad
		c.Resource[2] = 1 << 60
		if _, err := ParseContainer(c.Append(nil, writer), gpuTypes); err == nil {
			t.Errorf("accepts 2^60 in unit %q", bad)
		}
	}
}

func TestManyAllocationTagsAreRefused(t *testing.T) {
	c := vectorContainer()
	c.AllocationTags = make([]string, MaxAllocationTags+1)
	if _, err := ParseContainer(c.Append(nil, vectorTypes), vectorTypes); err == nil || !strings.Contains(err.Error(), "allocation tags") {
		t.Errorf("too many tags: %v", err)
	}
}

func TestAppendDoesNotReachSharedMemory(t *testing.T) {
	b := unhex(vectorProto)
	tok, err := ParseProto(b)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(tok.Identifier, 0xee)
	if !bytes.Equal(b, unhex(vectorProto)) {
		t.Error("appending to a parsed identifier changed the bytes that follow it")
	}
}
