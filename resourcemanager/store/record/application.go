package record

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/internal/intern"
	"github.com/heddle-project/heddle/resourcemanager/state"
)

func writeApplication(w *writer, r state.Application) {
	w.int(1, r.ID.ClusterTimestamp)
	w.int(2, int64(r.ID.Sequence))
	w.bytes(3, r.Context)
	w.text(4, r.User)
	w.text(5, r.RealUser)
	w.text(6, r.Queue)
	w.text(7, r.CallerContext)
	w.bytes(8, r.CallerSignature)
	w.int(9, int64(r.Priority))
	w.int(10, r.SubmitTime)
	w.int(11, r.StartTime)
	w.int(12, r.LaunchTime)
	w.int(13, r.FinishTime)
	for _, t := range r.Timeouts {
		var nested writer
		nested.int(1, int64(t.Type))
		nested.int(2, t.ExpireAt)
		w.nested(14, nested.b)
	}
	w.int(15, int64(r.Final))
	w.int(16, int64(r.FinalStatus))
	w.text(17, r.Diagnostics)
	w.text(18, r.PlanQueue)
	w.b = append(w.b, r.Unknown...)
}

// Application decodes the stored value of the application with that name into to, with the names of users and queues from texts. The context stays where
// it is, in the value, which has been found intact already. An error leaves to as it was.
func Application(name, value []byte, to *state.Application, texts *intern.Texts) error {
	body, err := fields(value)
	if err != nil {
		return err
	}
	var r state.Application // on the stack: memory that is read before it is written costs two page faults, not one, while it is new
	if err := readApplication(body, true, texts, &r); err != nil {
		return err
	}
	if err := checkApplication(&r); err != nil {
		return err
	}
	var own [64]byte
	if got := r.ID.Append(own[:0]); !bytes.Equal(got, name) {
		return fmt.Errorf("record says that it is %s", r.Key())
	}
	*to = r
	return nil
}

// readApplication is read for an application, of which there may be many: it leaves nothing to the collector. With borrow the context stays where it is,
// and the names of users and queues come from texts.
func readApplication(body []byte, borrow bool, texts *intern.Texts, r *state.Application) error {
	for len(body) > 0 {
		f, size, err := next(body)
		switch {
		case err != nil:
			return err
		case borrow && f.kind == protowire.BytesType && f.number == 3:
			r.Context = f.data
		case borrow && f.kind == protowire.BytesType && f.number == 4:
			r.User = texts.Of(f.data)
		case borrow && f.kind == protowire.BytesType && f.number == 6:
			r.Queue = texts.Of(f.data)
		case !applicationField(&f, r):
			r.Unknown = append(r.Unknown, body[:size]...)
		}
		if f.err != nil {
			return fmt.Errorf("field %d: %w", f.number, f.err)
		}
		body = body[size:]
	}
	return nil
}

func applicationField(f *field, r *state.Application) bool {
	switch f.number {
	case 1:
		return f.int64(&r.ID.ClusterTimestamp)
	case 2:
		return f.int32(&r.ID.Sequence)
	case 3:
		return f.bytes(&r.Context)
	case 4:
		return f.text(&r.User)
	case 5:
		return f.text(&r.RealUser)
	case 6:
		return f.text(&r.Queue)
	case 7:
		return f.text(&r.CallerContext)
	case 8:
		return f.bytes(&r.CallerSignature)
	case 9:
		return f.int32(&r.Priority)
	case 10:
		return f.int64(&r.SubmitTime)
	case 11:
		return f.int64(&r.StartTime)
	case 12:
		return f.int64(&r.LaunchTime)
	case 13:
		return f.int64(&r.FinishTime)
	case 14:
		return timeoutField(f, r)
	case 15:
		return small(f, &r.Final)
	case 16:
		return small(f, &r.FinalStatus)
	case 17:
		return f.text(&r.Diagnostics)
	case 18:
		return f.text(&r.PlanQueue)
	}
	return false
}

func timeoutField(f *field, r *state.Application) bool {
	if len(r.Timeouts) == state.MaxTimeouts {
		f.err = fmt.Errorf("more than %d timeouts", state.MaxTimeouts)
		return true
	}
	var t state.Timeout
	f.message(func(f *field) bool {
		switch f.number {
		case 1:
			return f.int32(&t.Type)
		case 2:
			return f.int64(&t.ExpireAt)
		}
		return false
	})
	r.Timeouts = append(r.Timeouts, t)
	return true
}
