package intern

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// Equal texts share memory, also after others took their place in Texts, and later changes of the bytes do not show.
func TestOneMemory(t *testing.T) {
	var texts Texts
	list := []string{"", "a", "root.default", strings.Repeat("x", 1000)}
	for i := range 1000 {
		list = append(list, fmt.Sprint("root.q", i))
	}
	first := map[string]string{}
	for range 2 {
		for _, want := range list {
			b := []byte(want)
			got, plain := texts.Of(b), Text(string(b))
			clear(b)
			if got != want || plain != want {
				t.Fatalf("%q and %q, want %q", got, plain, want)
			}
			if unsafe.StringData(got) != unsafe.StringData(plain) {
				t.Errorf("%q is in memory twice", want)
			}
			if before, ok := first[want]; ok && unsafe.StringData(before) != unsafe.StringData(got) {
				t.Errorf("%q is somewhere else the second time", want)
			}
			first[want] = got
		}
	}
}
