package config

import (
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Fifo is what the FifoScheduler reads: it has one queue, which takes everybody, and
// whose settings cannot be changed.
type Fifo struct {
	*Common
	Queue queue.Settings
}

// FifoQueue is the name of the one queue, and its path.
const FifoQueue = "default"

func (s *settings) forFifo(common *Common) *Fifo {
	all := yarn.ParseACL("*")
	return &Fifo{Common: common, Queue: queue.Settings{Path: FifoQueue, Name: FifoQueue, MaxAllocation: common.Cluster.MaxAllocation, Submit: all, Admin: all}}
}

// way is the one queue, which everything is in.
func (c *Fifo) way(string) []*queue.Settings { return []*queue.Settings{&c.Queue} }
