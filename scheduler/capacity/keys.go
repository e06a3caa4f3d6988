package capacity

import "github.com/heddle-project/heddle/scheduler/config"

// The settings that reasons name.
const (
	maximumCapacity = "maximum-capacity"
	masterShare     = "maximum-am-resource-percent"
	parallelApps    = "max-parallel-apps"
)

// setting is a queue's, of one partition if the label is not empty.
func settingOf(q *Queue, label, name string) string {
	if label != "" {
		name = "accessible-node-labels." + label + "." + name
	}
	return config.Prefix + q.Path + "." + name
}

// userSettings decide how much of a leaf one user may have.
func userSettings(q *Queue) string {
	return settingOf(q, "", "minimum-user-limit-percent") + " and " + settingOf(q, "", "user-limit-factor")
}

// userParallel decides how many applications of a user may run.
func userParallel(user string) string {
	return config.Prefix + "user." + user + "." + parallelApps + ", for all users " + config.Prefix + "user." + parallelApps
}
