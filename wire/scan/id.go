package scan

import "github.com/heddle-project/heddle/yarn"

// The ids merge into what is there, as parts of messages do.

func application(b []byte, id *yarn.ApplicationID) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			id.Sequence = int32(f.v)
		case 2<<3 | varint:
			id.ClusterTimestamp = int64(f.v)
		}
	}
	return f.err
}

func attempt(b []byte, id *yarn.AttemptID) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | block:
			if err := application(f.data, &id.Application); err != nil {
				return err
			}
		case 2<<3 | varint:
			id.Attempt = int32(f.v)
		}
	}
	return f.err
}

// container leaves the old copy of the application's id, field 1, alone.
func container(b []byte, id *yarn.ContainerID) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 2<<3 | block:
			if err := attempt(f.data, &id.Attempt); err != nil {
				return err
			}
		case 3<<3 | varint:
			id.Number = int64(f.v)
		}
	}
	return f.err
}
