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
func (t *term) openBlackBox(head blackbox.Header) error {
	b := &t.settings.BlackBox
	if b.Bytes == 0 {
		return nil
	}
	t.box = blackbox.NewRecorder(head, blackbox.Options{Ring: b.Bytes, Dir: t.Recordings, Log: t.Log})
	if !b.Record {
		return nil
	}
	tape, err := t.box.NewTape(b.RecordBytes)
	if err == nil {
		if err = t.box.Attach(tape); err != nil {
			err = errors.Join(err, tape.Discard())
		}
	}
	if err != nil {
		return fmt.Errorf("cannot record all commands (yarn.resourcemanager.heddle.black-box.record): %w", err)
	}
	t.Log.Info("all commands are recorded", "file", tape.State().File, "at most", b.RecordBytes)
	return nil
}

// recordOperation names a change of recordings in the audit log.
const recordOperation = "debugRecord"

// Record implements access.Controller.
func (t *term) Record(ctx context.Context, c webgate.Caller, what access.RecordAction) (x access.Recording, err error) {
	who := identity(c)
	if what != access.RecordStatus {
		defer func() { t.Audit(who, recordOperation, err) }()
	}
	if c.Anonymous || !t.rights.IsAdmin(who) {
		return x, answer.Errorf(answer.Unauthorized, "Recordings are for administrators (yarn.admin.acl) who say who they are. %s is none.", c.User)
	}
	t.recording.Lock() // so that no file of a tape that is being written is the oldest one
	defer t.recording.Unlock()
	switch what {
	case access.RecordSave:
		err = t.saveRecording(ctx, &x)
	case access.RecordStart:
		var tape *blackbox.Tape
		if tape, err = t.loop.StartTape(ctx, t.settings.BlackBox.RecordBytes); err == nil {
			x.File = tape.State().File
		}
	case access.RecordStop:
		var state blackbox.TapeState
		if state, err = t.loop.StopTape(ctx); err == nil {
			x.File, x.AllBytes, x.AllClosed = state.File, state.Bytes, state.Full
		}
	}
	if err != nil {
		return x, recordingRefused(err)
	}
	if x.File != "" {
		t.Log.Info("a recording of commands: "+string(what), "user", c.User, "file", x.File)
	}
	b, err := t.loop.BlackBox(ctx)
	if err != nil {
		return x, recordingRefused(err)
	}
	x.Commands, x.Missing = b.Commands, b.Missing
	if all := b.Tape; all != nil {
		x.All, x.AllBytes, x.AllClosed = all.File, all.Bytes, all.Full
	}
	return x, nil
}

func (t *term) saveRecording(ctx context.Context, x *access.Recording) error {
	s, err := t.loop.Snapshot(ctx)
	if err == nil {
		x.File, err = s.Save(t.Recordings)
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
