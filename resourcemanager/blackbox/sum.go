package blackbox

import (
	"encoding/binary"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// sum is a hash of the effects of all commands so far.
type sum uint64

func (s *sum) int(x uint64) {
	h := (uint64(*s) ^ x) * 0x9E3779B97F4A7C15
	*s = sum(h ^ h>>29)
}

// text adds only the length and both ends of a text, for speed: that tells most hosts
// and states from each other.
func (s *sum) text(t string) {
	s.int(uint64(len(t)))
	var ends [16]byte
	copy(ends[:8], t)
	copy(ends[8:], t[max(0, len(t)-8):])
	s.int(binary.LittleEndian.Uint64(ends[:8]))
	s.int(binary.LittleEndian.Uint64(ends[8:]))
}

func (s *sum) container(id yarn.ContainerID) {
	s.attempt(id.Attempt)
	s.int(uint64(id.Number))
}

func (s *sum) attempt(id yarn.AttemptID) {
	s.int(uint64(id.Application.ClusterTimestamp))
	s.int(uint64(id.Application.Sequence)<<32 | uint64(uint32(id.Attempt)))
}

// Sum adds the effects of one command to the hash of those before.
func Sum(before uint64, fx *engine.Effects) uint64 {
	s := sum(before)
	s.int(uint64(len(fx.Replies)) | uint64(len(fx.Saves))<<12 | uint64(len(fx.Containers))<<24 | uint64(len(fx.Transitions))<<36 |
		uint64(len(fx.Logins))<<48 | uint64(len(fx.Stops)+len(fx.Forgotten)+len(fx.Discarded)+len(fx.Summaries))<<54)
	for i := range fx.Replies {
		s.reply(&fx.Replies[i])
	}
	for i := range fx.Containers {
		c := &fx.Containers[i]
		s.container(c.Container)
		s.text(c.Node.Host)
		s.int(uint64(c.Node.Port)<<32 | uint64(uint32(c.Exit)))
		s.int(uint64(c.Resource.MemoryMB()))
		if c.Born {
			s.int(1)
		}
	}
	for i := range fx.Transitions {
		t := &fx.Transitions[i]
		s.attempt(t.Attempt)
		s.int(uint64(t.Application.Sequence))
		s.text(t.Node.Host)
		s.text(t.To)
	}
	for i := range fx.Saves {
		s.int(fx.Saves[i].Seq)
	}
	for i := range fx.Launches {
		s.attempt(fx.Launches[i].Attempt)
		s.text(fx.Launches[i].Grant.Node.Host)
	}
	return uint64(s)
}

func (s *sum) reply(r *engine.Reply) {
	s.int(uint64(r.Ticket))
	if r.Err != nil {
		s.int(uint64(r.Err.Kind) + 1)
		s.text(r.Err.Text)
		return
	}
	switch v := r.Value.(type) {
	case *engine.HeartbeatReply:
		s.int(uint64(v.Action)<<56 | uint64(len(v.CleanupContainers))<<40 | uint64(len(v.RemoveContainers))<<24 | uint64(len(v.CleanupApplications)))
		s.int(uint64(v.ResponseID))
	case *engine.AllocateReply:
		s.int(uint64(len(v.Granted))<<48 | uint64(len(v.Completed))<<32 | uint64(len(v.Nodes))<<16 | uint64(len(v.Updated)+len(v.UpdateErrors)))
		s.int(uint64(v.ResponseID))
		s.int(uint64(v.Headroom.MemoryMB()))
		s.int(uint64(v.Headroom.VCoreCount()))
		for i := range v.Granted {
			s.container(v.Granted[i].ID)
		}
	}
}
