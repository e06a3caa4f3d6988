package shell

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// maxTurn is how many chunks of one file are read before the other's turn.
const maxTurn = 16

// reading is the following of one container's output.
type reading struct {
	id    yarn.ContainerID
	event Event // of its start
	logs  []*log
	ended chan struct{} // closed when the process has ended
	stop  context.CancelFunc
}

// follow passes on what a container prints until it has ended and everything
// has been read. It is not ok if ctx ends before. note says what is missing.
func (m *master) follow(ctx context.Context, r *reading) (note string, ok bool) {
	for {
		select {
		case <-r.ended:
			return m.rest(ctx, r)
		case <-time.After(m.pace.look):
		case <-ctx.Done():
			return "", false
		}
		for _, l := range r.logs {
			if _, err := m.pass(ctx, r, l, maxTurn); err != nil {
				m.Log.Debug("cannot read a log yet", "error", err)
			}
		}
	}
}

// rest reads the logs of a container that has ended to their ends.
func (m *master) rest(ctx context.Context, r *reading) (note string, ok bool) {
	for i, l := range r.logs {
		dropped, err := m.wholly(ctx, r, l)
		switch {
		case ctx.Err() != nil:
			return "", false
		case err != nil:
			note = fmt.Sprintf("its %s could not be read to the end: %v", streams[i], err)
		case dropped:
			note = "its output was not fetched in time and is no longer sent"
		}
	}
	return note, true
}

func (m *master) wholly(ctx context.Context, r *reading, l *log) (dropped bool, err error) {
	for try := 1; ; try++ {
		if dropped, err = m.pass(ctx, r, l, 0); err == nil || try >= logTries {
			return dropped, err
		}
		select {
		case <-time.After(m.pace.look):
		case <-ctx.Done():
			return dropped, ctx.Err()
		}
	}
}

// pass turns a log's new content into events, at most most chunks, or all of it
// if most is 0. It waits while too much output is not fetched yet.
func (m *master) pass(ctx context.Context, r *reading, l *log, most int) (dropped bool, err error) {
	for n := 0; most == 0 || n < most; n++ {
		data, more, err := m.once(ctx, l)
		if err != nil {
			return dropped, err
		}
		if len(data) > 0 {
			e := r.event
			e.Kind, e.Stream, e.Data = Output, l.stream, data
			dropped = !m.feed.output(ctx, e) || dropped
		}
		if !more {
			return dropped, nil
		}
	}
	return dropped, nil
}

// once makes one request to a node; the number of concurrent requests is
// bounded.
func (m *master) once(ctx context.Context, l *log) (data []byte, more bool, err error) {
	select {
	case m.readers <- struct{}{}:
		defer func() { <-m.readers }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	return l.read(ctx)
}
