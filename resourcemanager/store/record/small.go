package record

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

func writeMasterKeys(w *writer, r state.MasterKeys) {
	writeMasterKey(w, 1, r.Current)
	writeMasterKey(w, 2, r.Next)
	w.b = append(w.b, r.Unknown...)
}

func writeMasterKey(w *writer, number protowire.Number, k state.MasterKey) {
	var nested writer
	nested.int(1, int64(k.ID))
	nested.bytes(2, k.Bytes)
	w.bytes(number, nested.b)
}

func readMasterKeys(body []byte) (state.Record, error) {
	var r state.MasterKeys
	unknown, err := read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return masterKey(f, &r.Current)
		case 2:
			return masterKey(f, &r.Next)
		}
		return false
	})
	r.Unknown = unknown
	return r, err
}

func masterKey(f *field, k *state.MasterKey) bool {
	return f.message(func(f *field) bool {
		switch f.number {
		case 1:
			return f.int32(&k.ID)
		case 2:
			return f.bytes(&k.Bytes)
		}
		return false
	})
}

func writeDelegationKey(w *writer, r state.DelegationKey) {
	w.int(1, int64(r.ID))
	w.int(2, r.ExpireAt)
	w.bytes(3, r.Bytes)
	w.b = append(w.b, r.Unknown...)
}

func readDelegationKey(body []byte) (state.Record, error) {
	var r state.DelegationKey
	unknown, err := read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return f.int32(&r.ID)
		case 2:
			return f.int64(&r.ExpireAt)
		case 3:
			return f.bytes(&r.Bytes)
		}
		return false
	})
	r.Unknown = unknown
	return r, err
}

func writeDelegationToken(w *writer, r state.DelegationToken) {
	w.int(1, int64(r.Sequence))
	w.bytes(2, r.Identifier)
	w.int(3, r.RenewBy)
	w.b = append(w.b, r.Unknown...)
}

func readDelegationToken(body []byte) (state.Record, error) {
	var r state.DelegationToken
	unknown, err := read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return f.int32(&r.Sequence)
		case 2:
			return f.bytes(&r.Identifier)
		case 3:
			return f.int64(&r.RenewBy)
		}
		return false
	})
	r.Unknown = unknown
	return r, err
}

func readDelegationSequence(body []byte) (state.Record, error) {
	var r state.DelegationSequence
	unknown, err := read(body, func(f *field) bool { return f.number == 1 && f.int32(&r.Last) })
	r.Unknown = unknown
	return r, err
}

func (c Codec) writeNodeDeadline(w *writer, r state.NodeDeadline) error {
	w.text(1, r.Node.Host)
	w.int(2, int64(r.Node.Port))
	w.int(3, r.Deadline)
	w.int(4, r.RequestedAt)
	w.text(5, r.RequestedBy)
	w.text(6, r.Reason)
	w.text(7, r.Source)
	if err := c.writeAmounts(w, 8, r.Capacity); err != nil {
		return err
	}
	w.b = append(w.b, r.Unknown...)
	return nil
}

func (c Codec) readNodeDeadline(body []byte) (state.Record, error) {
	var r state.NodeDeadline
	unknown, err := read(body, func(f *field) bool { return c.nodeDeadlineField(f, &r) })
	r.Unknown = unknown
	return r, err
}

func (c Codec) nodeDeadlineField(f *field, r *state.NodeDeadline) bool {
	switch f.number {
	case 1:
		return f.text(&r.Node.Host)
	case 2:
		return f.int32(&r.Node.Port)
	case 3:
		return f.int64(&r.Deadline)
	case 4:
		return f.int64(&r.RequestedAt)
	case 5:
		return f.text(&r.RequestedBy)
	case 6:
		return f.text(&r.Reason)
	case 7:
		return f.text(&r.Source)
	case 8:
		return c.amount(f, &r.Capacity)
	}
	return false
}

func writeConfigVersion(w *writer, r state.ConfigVersion) {
	w.int(1, r.Version)
	w.bytes(2, r.Blob)
	w.int(3, r.ChangedAt)
	w.text(4, r.ChangedBy)
	w.b = append(w.b, r.Unknown...)
}

func readConfigVersion(body []byte) (state.Record, error) {
	var r state.ConfigVersion
	unknown, err := read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return f.int64(&r.Version)
		case 2:
			return f.bytes(&r.Blob)
		case 3:
			return f.int64(&r.ChangedAt)
		case 4:
			return f.text(&r.ChangedBy)
		}
		return false
	})
	r.Unknown = unknown
	return r, err
}

func writeLabels(w *writer, r state.Labels) {
	for _, x := range r.Known {
		var nested writer
		writeNodeLabel(&nested, x)
		w.nested(1, nested.b)
	}
	for _, x := range r.Nodes {
		var nested writer
		writeLabelledNode(&nested, x)
		w.nested(2, nested.b)
	}
}

func readLabels(body []byte) (state.Record, error) {
	var r state.Labels
	_, err := read(body, func(f *field) bool {
		switch {
		case f.number <= 2 && f.kind != protowire.BytesType:
			f.err = errKind
		case f.number == 1:
			var x state.NodeLabel
			x, f.err = readNodeLabel(f.data)
			r.Known = append(r.Known, x)
		case f.number == 2:
			var x state.LabelledNode
			x, f.err = readLabelledNode(f.data)
			r.Nodes = append(r.Nodes, x)
		default:
			return false
		}
		return true
	})
	return r, err
}

func checkLabels(r state.Labels) error {
	for _, x := range r.Known {
		if x.Name == "" {
			return errors.New("a node label without a name")
		}
	}
	for _, x := range r.Nodes {
		if x.Node.Host == "" {
			return errors.New("a labelled node without a host")
		}
	}
	return nil
}

func writeNodeLabel(w *writer, r state.NodeLabel) {
	w.text(1, r.Name)
	w.bool(2, r.Exclusive)
	w.b = append(w.b, r.Unknown...)
}

func readNodeLabel(body []byte) (r state.NodeLabel, err error) {
	r.Unknown, err = read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return f.text(&r.Name)
		case 2:
			return f.bool(&r.Exclusive)
		}
		return false
	})
	return r, err
}

func writeLabelledNode(w *writer, r state.LabelledNode) {
	w.text(1, r.Node.Host)
	w.int(2, int64(r.Node.Port))
	w.text(3, r.Label)
	w.b = append(w.b, r.Unknown...)
}

func readLabelledNode(body []byte) (r state.LabelledNode, err error) {
	r.Unknown, err = read(body, func(f *field) bool {
		switch f.number {
		case 1:
			return f.text(&r.Node.Host)
		case 2:
			return f.int32(&r.Node.Port)
		case 3:
			return f.text(&r.Label)
		}
		return false
	})
	return r, err
}
