package token

import (
	"bytes"
	"testing"
)

func FuzzVInt(f *testing.F) {
	f.Add([]byte{0x8f, 0x80})
	f.Add([]byte{0x80, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n, err := ReadVInt(b)
		if err != nil {
			return
		}
		again, m, err := ReadVInt(AppendVInt(nil, v))
		if err != nil || again != v || m > n || n > maxVIntBytes {
			t.Fatalf("%x is %d in %d bytes, then %d in %d, %v", b, v, n, again, m, err)
		}
	})
}

func FuzzCredentials(f *testing.F) {
	f.Add(unhex(vectorCredentials0))
	f.Add(unhex(vectorCredentials1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCredentials(b)
		if err != nil {
			return
		}
		written := c.Append(nil)
		again, err := ParseCredentials(written)
		if err != nil || !bytes.Equal(again.Append(nil), written) {
			t.Fatalf("%x is written as %x, which is read as %+v, %v", b, written, again, err)
		}
	})
}

func FuzzIdentifiers(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(v.identifier))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := ParseAMRM(b); err == nil {
			if again, err := ParseAMRM(id.Append(nil)); err != nil || again != id {
				t.Fatalf("%+v is read again as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseNM(b); err == nil {
			if again, err := ParseNM(id.Append(nil)); err != nil || again != id {
				t.Fatalf("%+v is read again as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseDelegation(b); err == nil {
			if again, err := ParseDelegation(id.Append(nil)); err != nil || again != id {
				t.Fatalf("%+v is read again as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseContainer(b, gpuTypes); err == nil {
			written := id.Append(nil, gpuTypes)
			again, err := ParseContainer(written, gpuTypes)
			if err != nil || !bytes.Equal(again.Append(nil, gpuTypes), written) {
				t.Fatalf("%+v is read again as %+v, %v", id, again, err)
			}
		}
		_, _ = ParseProto(b)
	})
}
