package view

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// Kept is a sentence that says why a queue is not deleted, without the queue's name; empty if it can be.
func Kept(why yarn.Reason) string {
	switch why.Code {
	case "":
		return ""
	case fit.KeptRoot:
		return "it is the root queue"
	case fit.KeptNamed:
		return "the allocation file names it"
	case fit.KeptBusy:
		if why.Count == 1 {
			return "it has 1 application"
		}
		return fmt.Sprintf("it has %d applications", why.Count)
	case fit.KeptBelow:
		return "the queue " + why.Detail + " below it is not deleted either"
	case fit.KeptPlan:
		return "it belongs to a plan, and goes when its reservation is over"
	case fit.KeptAll:
		return "only the FairScheduler deletes queues on request"
	}
	return string(why.Code)
}
