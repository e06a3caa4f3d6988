package scan

import (
	"errors"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Amount is a ResourceProto that is no part of a hot request, in as many parts as it came.
type Amount struct{ amounts }

// Scan adds a part.
func (a *Amount) Scan(b []byte, types yarn.ResourceTypes) error { return a.scan(b, types) }

// Sum is the amount. It is an error if a value of it makes no sense in this cluster.
func (a *Amount) Sum() (yarn.Resource, error) { return a.sum(), a.refused }

// amounts gather a ResourceProto. Named values win over the two old fields,
// wherever they stand in the message.
type amounts struct {
	old     yarn.Resource
	named   yarn.Resource
	has     [yarn.MaxResourceTypes]bool
	refused error // the first value that makes no sense here
}

func (r *amounts) sum() yarn.Resource {
	out := r.old
	for i, has := range r.has {
		if has {
			out[i] = r.named[i]
		}
	}
	return out
}

func (r *amounts) scan(b []byte, types yarn.ResourceTypes) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			r.old[yarn.Memory] = int64(f.V)
		case 2<<3 | field.Varint:
			r.old[yarn.VCores] = int64(int32(f.V))
		case 3<<3 | field.Block:
			if err := r.value(f.Data, types); err != nil {
				return err
			}
		}
	}
	return f.Err
}

var errNoResourceName = errors.New("an amount of a resource must have its name")

// value reads a ResourceInformationProto.
func (r *amounts) value(b []byte, types yarn.ResourceTypes) error {
	var key, units []byte
	var amount int64
	named := false
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			key, named = f.Data, true
		case 2<<3 | field.Varint:
			amount = int64(f.V)
		case 3<<3 | field.Block:
			units = f.Data
		}
	}
	switch {
	case f.Err != nil:
		return f.Err
	case !named:
		return errNoResourceName
	case r.refused != nil:
		return nil //nolint:nilerr // the first refusal stands and is reported with the ask
	}
	for i := range types {
		if string(key) == types[i].Name && string(units) == types[i].Units {
			r.named[i], r.has[i] = amount, true
			return nil
		}
	}
	r.rare(string(key), string(units), amount, types)
	return nil
}

// rare takes an amount in other units than the cluster's, or of a resource that
// the cluster does not have.
func (r *amounts) rare(key, units string, amount int64, types yarn.ResourceTypes) {
	x, err := convert.Resource(&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{{Key: &key, Units: &units, Value: &amount}}}, types)
	if err != nil {
		r.refused = err
		return
	}
	i := types.Index(key)
	r.named[i], r.has[i] = x[i], true
}
