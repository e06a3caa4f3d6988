package engine

import "github.com/heddle-project/heddle/yarn"

// The tree below a local directory. Apache's NodeManager has the same: containers and shuffle rely on it.

// cacheDir is where the resources of a visibility lie.
func cacheDir(local string, v Visibility, user string, app yarn.ApplicationID) string {
	switch v {
	case Public:
		return local + "/filecache"
	case Private:
		return UserDir(local, user) + "/filecache"
	}
	return ApplicationDir(local, user, app) + "/filecache"
}

// UserDir is where everything of a user lies.
func UserDir(local, user string) string { return local + "/usercache/" + user }

// ApplicationDir is where everything of an application lies.
func ApplicationDir(local, user string, app yarn.ApplicationID) string {
	return UserDir(local, user) + "/appcache/" + app.String()
}

// ContainerDir is a container's, one on every local directory.
func ContainerDir(local, user string, id yarn.ContainerID) string {
	return ApplicationDir(local, user, id.Attempt.Application) + "/" + id.String()
}

// PrivateDir is what the daemon keeps about a container.
func PrivateDir(local string, id yarn.ContainerID) string {
	return local + "/nmPrivate/" + id.Attempt.Application.String() + "/" + id.String()
}

// LogDir is where a container's logs lie.
func LogDir(log string, id yarn.ContainerID) string {
	return log + "/" + id.Attempt.Application.String() + "/" + id.String()
}
