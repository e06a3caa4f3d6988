package aggregated

import (
	"fmt"
	"io"
)

// ACL says who has one kind of access to an application, such as VIEW_APP:
// users and groups as in Hadoop's access control lists.
type ACL struct{ Access, List string }

// File is one log file as it was when it was collected.
type File struct {
	Name     string
	Size     int64 // bytes
	Modified int64 // milliseconds since 1970; 0 if the format does not say
}

// records are the log files in one file of aggregated logs, container by container.
type records interface {
	// Owner is the user whose application it is. It and ACLs are known after the
	// first NextContainer; a file without them leaves them empty.
	Owner() string
	// Node is the node that has collected them, "host:port"; "" if the format does not say.
	Node() string
	// ACLs are the application's.
	ACLs() []ACL
	// NextContainer goes to the next container and returns its id as it was
	// written, which need not be one. The error is io.EOF after the last.
	NextContainer() (string, error)
	// NextFile goes to the container's next log file. The error is io.EOF after the last.
	NextFile() (File, error)
	// Read reads the log file at hand. The error is io.ErrUnexpectedEOF if there is
	// less of it than its size says.
	Read(p []byte) (int, error)
	// Skip passes over n bytes of the log file at hand, or to its end.
	Skip(n int64) error
}

// Reader reads a file of aggregated logs from its first container to its last,
// in the manner of archive/tar: NextContainer, then NextFile, then Read. A TFile
// that ends too early can be read up to there.
type Reader struct {
	records
	closer io.Closer // of a file that a Store opened
}

// NewReader begins to read a TFile, which stays the caller's to close. If the
// file is an io.Seeker, what is passed over is not read.
func NewReader(file io.Reader) (*Reader, error) {
	t, err := openTFile(file)
	if err != nil {
		return nil, fmt.Errorf("not a file of aggregated logs, or a damaged one: %w", err)
	}
	return &Reader{records: t}, nil
}

// Close closes the file if a Store opened it.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
