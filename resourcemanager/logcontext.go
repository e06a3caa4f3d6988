package resourcemanager

import "github.com/heddle-project/heddle/wire/field"

// logContextField is log_aggregation_context in ApplicationSubmissionContextProto.
const logContextField = 14

// logContext cuts the settings of log aggregation out of a submission context:
// they travel to nodes inside container tokens. nil if there are none.
func logContext(submission []byte) []byte {
	settings, _ := field.Find(submission, logContextField) // what is malformed was refused at submission
	return settings
}
