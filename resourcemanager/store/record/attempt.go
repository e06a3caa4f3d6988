package record

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

func (c Codec) writeAttempt(w *writer, r state.Attempt) error {
	w.int(1, r.ID.Application.ClusterTimestamp)
	w.int(2, int64(r.ID.Application.Sequence))
	w.int(3, int64(r.ID.Attempt))
	w.int(4, r.MasterContainer.Number)
	w.text(5, r.MasterNode.Host)
	w.int(6, int64(r.MasterNode.Port))
	w.text(7, r.MasterHTTP)
	if err := c.writeAmounts(w, 8, r.MasterResource); err != nil {
		return err
	}
	w.int(9, int64(r.MasterPriority))
	w.text(10, r.Host)
	w.int(11, int64(r.RPCPort))
	w.text(12, r.TrackingURL)
	w.int(13, r.StartTime)
	w.int(14, r.FinishTime)
	w.int(15, int64(r.Final))
	w.int(16, int64(r.FinalStatus))
	w.int(17, int64(r.ExitStatus))
	w.text(18, r.Diagnostics)
	if err := c.writeAmounts(w, 19, r.UsageSeconds); err != nil {
		return err
	}
	if err := c.writeAmounts(w, 20, r.PreemptedUsage); err != nil {
		return err
	}
	w.int(21, r.TotalContainers)
	w.b = append(w.b, r.Unknown...)
	return nil
}

func (c Codec) readAttempt(body []byte) (state.Record, error) {
	var r state.Attempt
	unknown, err := read(body, func(f *field) bool { return c.attemptField(f, &r) })
	if r.MasterContainer.Number != 0 {
		r.MasterContainer.Attempt = r.ID
	}
	r.Unknown = unknown
	return r, err
}

func (c Codec) attemptField(f *field, r *state.Attempt) bool {
	switch f.number {
	case 1:
		return f.int64(&r.ID.Application.ClusterTimestamp)
	case 2:
		return f.int32(&r.ID.Application.Sequence)
	case 3:
		return f.int32(&r.ID.Attempt)
	case 4:
		return f.int64(&r.MasterContainer.Number)
	case 5:
		return f.text(&r.MasterNode.Host)
	case 6:
		return f.int32(&r.MasterNode.Port)
	case 7:
		return f.text(&r.MasterHTTP)
	case 8:
		return c.amount(f, &r.MasterResource)
	case 9:
		return f.int32(&r.MasterPriority)
	case 10:
		return f.text(&r.Host)
	case 11:
		return f.int32(&r.RPCPort)
	case 12:
		return f.text(&r.TrackingURL)
	}
	return c.attemptEnd(f, r)
}

func (c Codec) attemptEnd(f *field, r *state.Attempt) bool {
	switch f.number {
	case 13:
		return f.int64(&r.StartTime)
	case 14:
		return f.int64(&r.FinishTime)
	case 15:
		return small(f, &r.Final)
	case 16:
		return small(f, &r.FinalStatus)
	case 17:
		return f.int32(&r.ExitStatus)
	case 18:
		return f.text(&r.Diagnostics)
	case 19:
		return c.amount(f, &r.UsageSeconds)
	case 20:
		return c.amount(f, &r.PreemptedUsage)
	case 21:
		return f.int64(&r.TotalContainers)
	}
	return false
}

// writeAmounts writes one field per resource type with an amount.
func (c Codec) writeAmounts(w *writer, number protowire.Number, r yarn.Resource) error {
	for i, amount := range r {
		if amount == 0 {
			continue
		}
		if i >= len(c.Types) {
			return fmt.Errorf("amount %d at position %d, but the cluster has only %d resource types", amount, i, len(c.Types))
		}
		var nested writer
		nested.text(1, c.Types[i].Name)
		nested.int(2, amount)
		w.nested(number, nested.b)
	}
	return nil
}

// amount reads one amount. One of a resource type that the cluster does not have is an
// unknown field.
func (c Codec) amount(f *field, to *yarn.Resource) bool {
	var name string
	var amount int64
	f.message(func(f *field) bool {
		switch f.number {
		case 1:
			return f.text(&name)
		case 2:
			return f.int64(&amount)
		}
		return false
	})
	i := c.Types.Index(name)
	if i < 0 || i >= len(to) {
		return false
	}
	to[i] = amount
	return true
}
