package resourcemanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// openBlackBox has the commands kept that the engine is going to apply.
func (d *Daemon) openBlackBox(head blackbox.Header) error {
	b := &d.settings.BlackBox
	if b.Bytes == 0 {
		return nil
	}
	d.box = blackbox.NewRecorder(head, blackbox.Options{Ring: b.Bytes, Dir: d.Recordings, Log: d.Log})
	if !b.Record {
		return nil
	}
	tape, err := d.box.NewTape(b.RecordBytes)
	if err == nil {
		err = d.box.Attach(tape)
	}
	if err != nil {
		return fmt.Errorf("cannot record all commands (yarn.resourcemanager.heddle.black-box.record): %w", err)
	}
	d.Log.Info("all commands are recorded", "file", tape.State().File, "at most", b.RecordBytes)
	return nil
}

// recordOperation names a change of recordings in the audit log.
const recordOperation = "debugRecord"

// Record implements access.Controller.
func (d *Daemon) Record(ctx context.Context, c webgate.Caller, what access.RecordAction) (x access.Recording, err error) {
	who := identity(c)
	if what != access.RecordStatus {
		defer func() { d.Audit(who, recordOperation, err) }()
	}
	if c.Anonymous || !d.rights.IsAdmin(who) {
		return x, answer.Errorf(answer.Unauthorized, "Recordings are for administrators (yarn.admin.acl) who say who they are. %s is none.", c.User)
	}
	d.recording.Lock() // so that no file of a tape that is being written is the oldest one
	defer d.recording.Unlock()
	switch what {
	case access.RecordSave:
		err = d.saveRecording(ctx, &x)
	case access.RecordStart:
		var tape *blackbox.Tape
		if tape, err = d.loop.StartTape(ctx, d.settings.BlackBox.RecordBytes); err == nil {
			x.File = tape.State().File
		}
	case access.RecordStop:
		var state blackbox.TapeState
		if state, err = d.loop.StopTape(ctx); err == nil {
			x.File, x.AllBytes, x.AllClosed = state.File, state.Bytes, state.Full
		}
	}
	if err != nil {
		return x, recordingRefused(err)
	}
	if x.File != "" {
		d.Log.Info("a recording of commands: "+string(what), "user", c.User, "file", x.File)
	}
	b, err := d.loop.BlackBox(ctx)
	if err != nil {
		return x, recordingRefused(err)
	}
	x.Commands, x.Missing = b.Commands, b.Missing
	if t := b.Tape; t != nil {
		x.All, x.AllBytes, x.AllClosed = t.File, t.Bytes, t.Full
	}
	return x, nil
}

func (d *Daemon) saveRecording(ctx context.Context, x *access.Recording) error {
	s, err := d.loop.Snapshot(ctx)
	if err == nil {
		x.File, err = s.Save(d.Recordings)
	}
	return err
}

// recordingRefused is the answer to what cannot be done now.
func recordingRefused(err error) error {
	if errors.Is(err, loop.ErrClosed) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return answer.Errorf(answer.WrongState, "%s", err)
}
