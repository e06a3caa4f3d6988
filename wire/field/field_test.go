package field

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/yarn"
)

func TestWalk(t *testing.T) {
	long := strings.Repeat("x", 300)
	b := AppendInt(nil, 1, -1)
	b = AppendText(b, 20, long)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 3, protowire.Fixed32Type), 7)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 4, protowire.Fixed64Type), 8)
	b = protowire.AppendTag(protowire.AppendTag(b, 5, protowire.StartGroupType), 5, protowire.EndGroupType)
	b = AppendBytes(b, 6, nil)
	f := Walk{Rest: b}
	var got []string
	for f.Next() {
		switch f.Tag {
		case 1<<3 | Varint:
			if int64(f.V) != -1 {
				t.Errorf("field 1 is %d", int64(f.V))
			}
			got = append(got, "1")
		case 20<<3 | Block:
			if string(f.Data) != long || cap(f.Data) != len(f.Data) {
				t.Errorf("field 20 has %d bytes and room for %d", len(f.Data), cap(f.Data))
			}
			got = append(got, "20")
		case 3<<3 | Fixed32:
			if f.V != 7 {
				t.Errorf("field 3 is %d", f.V)
			}
			got = append(got, "3")
		case 6<<3 | Block:
			got = append(got, "6")
		}
	}
	if f.Err != nil || strings.Join(got, " ") != "1 20 3 6" {
		t.Errorf("walked over %v, then %v", got, f.Err)
	}
	if data, err := Find(b, 6); data == nil || len(data) != 0 || err != nil {
		t.Errorf("an empty block is found as %v, %v", data, err)
	}
	if data, err := Find(b, 7); data != nil || err != nil {
		t.Errorf("what is not there is found as %v, %v", data, err)
	}
}

func TestMalformed(t *testing.T) {
	for name, b := range map[string]string{
		"field 0": "\x00\x00", "a tag without a value": "\x08", "a tag without end": "\x88", "a varint of 11 bytes": "\x08" + strings.Repeat("\xff", 11),
		"a block beyond the end": "\x0a\x05ab", "a block of 2 GiB": "\x0a\xff\xff\xff\xff\x07ab", "half a fixed32": "\x0d\x00\x00",
		"a group without end": "\x0b\x08\x01", "an end without a group": "\x0c", "groups without end, deep": strings.Repeat("\x0b", 1<<20),
	} {
		f := Walk{Rest: []byte(b)}
		if f.Next() || f.Err == nil || f.Next() {
			t.Errorf("%s: tag %d, %v", name, f.Tag, f.Err)
		}
		if _, err := Find([]byte(b), 1); err == nil {
			t.Errorf("%s: found", name)
		}
		if err := WellFormed([]byte(b)); err == nil {
			t.Errorf("%s: well-formed", name)
		}
	}
}

func TestFailEndsTheWalk(t *testing.T) {
	f := Walk{Rest: AppendInt(AppendInt(nil, 1, 1), 2, 2)}
	f.Next()
	f.Fail(nil)
	unusable := errors.New("unusable")
	f.Fail(unusable)
	f.Fail(errors.New("later"))
	if f.Next() || !errors.Is(f.Err, unusable) || !strings.Contains(f.Err.Error(), "field 1") {
		t.Errorf("after a failure: tag %d, %v", f.Tag, f.Err)
	}
}

// TestNested holds messages of every length, so of every width of the length,
// against what the runtime's primitives make.
func TestNested(t *testing.T) {
	for _, n := range []int{0, 1, 100, 125, 126, 127, 128, 16_381, 16_382, 16_384, 1 << 21} {
		text := strings.Repeat("y", n)
		b, mark := Open([]byte("before"), 17)
		b = Shut(AppendText(b, 1, text), mark)
		want := protowire.AppendBytes(protowire.AppendTag([]byte("before"), 17, protowire.BytesType), AppendText(nil, 1, text))
		if !bytes.Equal(b, want) {
			t.Errorf("a message with %d bytes differs", n)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(AppendContainerID(nil, 2, yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 2}, Attempt: 3}, Number: 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var id yarn.ContainerID
		if ReadContainerID(b, &id) != nil {
			return
		}
		inner, err := Find(AppendContainerID(nil, 9, id), 9)
		if err != nil {
			t.Fatal(err)
		}
		var again yarn.ContainerID
		if err := ReadContainerID(inner, &again); err != nil || again != id {
			t.Fatalf("%v is read back as %v, %v", id, again, err)
		}
	})
}

// FuzzWellFormed: what a walk comes to the end of is well-formed; all else is refused with the error of the walk.
func FuzzWellFormed(f *testing.F) {
	for _, b := range []string{"", "\x08", "\x08\x01\x12\x02ab", "\x12\x03ab", "\x02\x00", "\x92\x01\x00", "\x12\x80\x01", "\x0d\x01\x02\x03\x04\x08\x7f", "\x08\x80\x01\x0b\x0c\x10"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := Walk{Rest: b}
		for w.Next() {
		}
		err := WellFormed(b)
		if (err == nil) != (w.Err == nil) || err != nil && err.Error() != w.Err.Error() {
			t.Fatalf("%q: %v, a walk says %v", b, err, w.Err)
		}
	})
}
