package localize

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/javaregexp"
	"github.com/heddle-project/heddle/wire/pb"
)

// Type says what becomes of the bytes.
type Type uint8

// The types, with Hadoop's numbers on the wire.
const (
	Archive Type = 1 // unpacked
	File    Type = 2 // copied
	Pattern Type = 3 // a jar that is kept, and of which the entries that match are unpacked beside it
)

func (t Type) String() string {
	switch t {
	case Archive:
		return "ARCHIVE"
	case File:
		return "FILE"
	case Pattern:
		return "PATTERN"
	}
	return "type " + strconv.Itoa(int(t))
}

// Visibility says who may use a resource, and with that which cache holds it.
type Visibility uint8

// The visibilities, with Hadoop's numbers on the wire.
const (
	Public      Visibility = 1 // everybody on the node
	Private     Visibility = 2 // all applications of the user
	Application Visibility = 3 // the containers of one application
)

func (v Visibility) String() string {
	switch v {
	case Public:
		return "PUBLIC"
	case Private:
		return "PRIVATE"
	case Application:
		return "APPLICATION"
	}
	return "visibility " + strconv.Itoa(int(v))
}

// Request is one resource that a container wants. It is comparable, but sharing goes by Key.
type Request struct {
	URL        filesystem.URL
	Timestamp  int64 // the file's modification time in milliseconds, as the submitter saw it
	Size       int64 // as the submitter said; compat: nobody checks it
	Type       Type
	Visibility Visibility
	Pattern    string // Java regular expression for whole names of entries; "" matches all
}

const maxName = 255 // bytes of a file's name, as Linux has it

// FromWire reads a LocalResourceProto. An error names what is wrong with it.
func FromWire(m *pb.LocalResource) (Request, error) {
	u := m.GetResource()
	location, err := wireURL(u.GetScheme(), u.GetUserInfo(), u.GetHost(), u.GetPort(), u.GetFile())
	if err != nil {
		return Request{}, fmt.Errorf("the resource's URL: %w", err)
	}
	r := Request{URL: location, Timestamp: m.GetTimestamp(), Size: m.GetSize(), Type: Type(m.GetType()),
		Visibility: Visibility(m.GetVisibility()), Pattern: m.GetPattern()}
	return r, r.check()
}

// wireURL puts a URLProto together. A port that is absent is -1 from Java and 0 from others.
func wireURL(scheme, user, host string, port int32, file string) (filesystem.URL, error) {
	authority := host
	if user != "" && host != "" {
		authority = user + "@" + host
	}
	if port > 0 && host != "" {
		authority += ":" + strconv.Itoa(int(port))
	}
	return filesystem.MakeURL(scheme, authority, file)
}

func (r Request) check() error {
	name, err := r.URL.Name()
	switch {
	case err != nil:
		return err
	case len(name) > maxName:
		return fmt.Errorf("%s: a file name of more than %d bytes", r.URL, maxName)
	case r.Type < Archive || r.Type > Pattern:
		return fmt.Errorf("%s: %s is not a type of resources", r.URL, r.Type)
	case r.Visibility < Public || r.Visibility > Application:
		return fmt.Errorf("%s: %s is not a visibility of resources", r.URL, r.Visibility)
	case len(r.Pattern) > javaregexp.MaxLength:
		return fmt.Errorf("%s: a pattern of more than %d bytes", r.URL, javaregexp.MaxLength)
	}
	return nil
}

// Key is the same for requests that may share one copy within a cache: equal URL (scheme and host without regard to
// case), timestamp, type and pattern. The visibility chooses the cache and is no part of it.
func (r Request) Key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %s", r.Type, r.Timestamp, len(r.Pattern), r.Pattern)
	b.WriteString(" " + r.URL.Folded().String())
	return b.String()
}

// String is the form that Hadoop's logs and diagnostics have.
func (r Request) String() string {
	pattern := r.Pattern
	if pattern == "" {
		pattern = "null"
	}
	return fmt.Sprintf("{ %s, %d, %s, %s }", r.URL, r.Timestamp, r.Type, pattern)
}
