package resourcemanager

import "google.golang.org/protobuf/encoding/protowire"

// logContextField is log_aggregation_context in ApplicationSubmissionContextProto.
const logContextField = 14

// logContext cuts the settings of log aggregation out of a submission context:
// they travel to nodes inside container tokens. nil if there are none.
func logContext(submission []byte) []byte {
	for len(submission) > 0 {
		field, typ, n := protowire.ConsumeTag(submission)
		if n < 0 {
			return nil
		}
		submission = submission[n:]
		size := protowire.ConsumeFieldValue(field, typ, submission)
		if size < 0 {
			return nil
		}
		if field == logContextField && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(submission)
			return value
		}
		submission = submission[size:]
	}
	return nil
}
