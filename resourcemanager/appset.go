package resourcemanager

import "github.com/heddle-project/heddle/yarn"

// appSet is a set of applications. Where a ResourceManager numbered them one after the other, which is usual, each takes about a bit.
type appSet map[appBlock]*[blockApps / 64]uint64

// appBlock names the blockApps applications of one cluster timestamp whose sequence numbers differ only in the lowest 12 bits.
type appBlock struct {
	timestamp int64
	number    int32
}

const blockApps = 4096

// place returns the block of an application, and its word and bit there.
func (appSet) place(id yarn.ApplicationID) (block appBlock, word int, bit uint64) {
	at := uint32(id.Sequence) % blockApps
	return appBlock{id.ClusterTimestamp, int32(uint32(id.Sequence) / blockApps)}, int(at / 64), 1 << (at % 64)
}

func (s appSet) has(id yarn.ApplicationID) bool {
	block, word, bit := s.place(id)
	b := s[block]
	return b != nil && b[word]&bit != 0
}

func (s appSet) add(id yarn.ApplicationID) {
	block, word, bit := s.place(id)
	b := s[block]
	if b == nil {
		b = new([blockApps / 64]uint64)
		s[block] = b
	}
	b[word] |= bit
}

func (s appSet) remove(id yarn.ApplicationID) {
	block, word, bit := s.place(id)
	b := s[block]
	if b == nil {
		return
	}
	if b[word] &^= bit; *b == [blockApps / 64]uint64{} {
		delete(s, block)
	}
}
