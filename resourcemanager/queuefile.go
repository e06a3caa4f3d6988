package resourcemanager

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// queueFileWatch follows capacity-scheduler.xml: what QueueConfigurationAutoRefreshPolicy does.
type queueFileWatch struct {
	read   atomic.Pointer[fileStamp] // when the file was read last, whether or not it was taken over
	seen   fileStamp                 // at the last look
	logged string                    // the problem that was logged last
}

// fileStamp differs when a file has changed. It is zero if there is none.
type fileStamp struct{ modified, size int64 }

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime().UnixNano(), info.Size()}
}

func (p *process) queueFilePath() string { return filepath.Join(p.Dir, "capacity-scheduler.xml") }

// followQueueFile calls tendQueueFile in every period of the configuration in force.
func (t *term) followQueueFile(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(milliseconds(t.access.schedule.Load().Capacity.RefreshInterval), leastPeriod)):
			t.tendQueueFile(ctx)
		}
	}
}

// tendQueueFile refreshes the queues if the file is another one than was read last. One that has changed since the last look may still be being
// written, so it waits for the next.
func (t *term) tendQueueFile(ctx context.Context) {
	q := &t.queueFile
	now := stampOf(t.queueFilePath())
	rests := now == q.seen
	q.seen = now
	if !rests || now == *q.read.Load() {
		return
	}
	switch err := t.rereadQueues(ctx, t.User); {
	case ctx.Err() != nil:
	case err == nil:
		q.logged = ""
		t.Log.Info("the queue file has changed, and has been taken over", "logger", "scheduler", "file", t.queueFilePath())
	case err.Error() != q.logged:
		q.logged = err.Error()
		t.Log.Error("the queue file has changed, and is not taken over: the queues stay as they are until it is right",
			"logger", "scheduler", "file", t.queueFilePath(), "error", err)
	}
}
