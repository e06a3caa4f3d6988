package replica

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A connection begins with a hello of each side, the caller's first. Then the caller sends frames, and the other side sends nothing, but for one frame
// at the end of a snapshot. A frame is its length, 4 bytes, and so many bytes; one of length 0 says that the caller is there.
const (
	protocol = 2 // 1: without the number of a question in a heartbeat
	maxHello = 64 << 10
	maxFrame = MaxBatch + 2<<20
)

// What a connection is for.
const (
	forMessages = "messages"
	forSnapshot = "snapshot"
)

// hello says who somebody is.
type hello struct {
	Protocol int      `json:"protocol"`
	Cluster  string   `json:"cluster"`
	Name     string   `json:"name"`
	Disk     uint64   `json:"disk,string"`
	Members  []string `json:"members"`           // sorted
	Witness  []string `json:"witness,omitempty"` // those of them that have no lease, sorted
	Founded  bool     `json:"founded"`           // it has a list of voters
	Remade   uint64   `json:"remade,omitempty"`  // how often the store was made anew of one copy
	For      string   `json:"for,omitempty"`
	Refused  string   `json:"refused,omitempty"` // why nothing follows
}

// fits tells what keeps two members from working together. name is who the other one should be; "": any other.
func (h *hello) fits(other *hello, name string) error {
	switch {
	case other.Protocol != h.Protocol:
		return fmt.Errorf("%s speaks version %d of the protocol between members, and this one version %d: run the same release on all", other.Name, other.Protocol, h.Protocol)
	case other.Cluster != h.Cluster:
		return fmt.Errorf("%s is of cluster %q, and this one of %q", other.Name, other.Cluster, h.Cluster)
	case !slices.Equal(other.Members, h.Members):
		return fmt.Errorf("%s is configured with the members %s, and this one with %s: give all of them the same list", other.Name, strings.Join(other.Members, ","), strings.Join(h.Members, ","))
	case !slices.Equal(other.Witness, h.Witness):
		return fmt.Errorf("%s is configured with the witnesses %q, and this one with %q: give all of them the same list", other.Name, other.Witness, h.Witness)
	case name != "" && other.Name != name:
		return fmt.Errorf("%s answers where %s should be: look at the addresses", other.Name, name)
	case other.Name == h.Name:
		return fmt.Errorf("another process says that it is %s, as this one is", h.Name)
	case !slices.Contains(h.Members, other.Name):
		return fmt.Errorf("%q is none of the members %s", other.Name, strings.Join(h.Members, ","))
	case other.Disk == 0 || other.Disk == h.Disk:
		return fmt.Errorf("%s has a copy of this member's files: remove them there, and it gets its own", other.Name)
	case h.Founded && other.Founded && other.Remade > h.Remade:
		return fmt.Errorf("%w: %s belongs to the store that was recovered", errLeftBehind, other.Name)
	case h.Founded && other.Founded && other.Remade < h.Remade:
		return fmt.Errorf("%s has a copy from before the store was recovered, and can have no part in it: set that copy aside, and it gets everything", other.Name)
	}
	return nil
}

// errLeftBehind ends the part of a member whose copy is of no use any more.
var errLeftBehind = errors.New("the store was recovered from the copy of another member while this one was away, and its own copy belongs to the store of before: set it aside, and this one gets everything from the others")

func writeFrame(w *bufio.Writer, b []byte) error {
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(b)))
	w.Write(head[:])
	_, err := w.Write(b)
	return err
}

// readFrame keeps no more than limit bytes, and takes them as they come.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(limit) {
		return nil, fmt.Errorf("a frame of %d bytes is longer than %d", n, limit)
	}
	if n <= 1<<16 {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func writeHello(w *bufio.Writer, h hello) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return errors.Join(writeFrame(w, b), w.Flush())
}

func readHello(r io.Reader) (*hello, error) {
	b, err := readFrame(r, maxHello)
	if err != nil {
		return nil, err
	}
	h := &hello{}
	if err := json.Unmarshal(b, h); err != nil {
		return nil, fmt.Errorf("the other side does not say who it is: %w", err)
	}
	if len(h.Name) > 256 || len(h.Refused) > 4096 || len(h.Members) > 64 || len(h.Witness) > 64 {
		return nil, errors.New("the other side says too much about itself")
	}
	return h, nil
}
