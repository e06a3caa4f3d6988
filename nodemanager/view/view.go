// Package view holds the values that the node shows to readers such as the web
// server. They never change once handed out, and nothing here can change the
// node.
package view

import "github.com/heddle-project/heddle/yarn"

// Node is the node itself.
type Node struct {
	ID      yarn.NodeID
	Started int64 // when the daemon started, milliseconds since 1970

	Healthy bool
	Report  string // why not, or what is wrong though it is healthy
	Checked int64  // when the health was last checked, milliseconds since 1970

	Offered       yarn.Resource // what containers can have in all
	Types         yarn.ResourceTypes
	VirtualMB     int64  // virtual memory that all containers together can have
	PhysicalCheck bool   // containers that exceed their physical memory are killed
	VirtualCheck  bool   // likewise for virtual memory
	Recovery      string // the recovery directory; "" if nothing is kept for a restart
}

// Application is an application that has, or had, containers here.
type Application struct {
	ID         yarn.ApplicationID
	User       string
	State      string             // ApplicationState as the web services spell it: RUNNING, FINISHED, …
	Containers []yarn.ContainerID // those that are not forgotten, sorted
}

// NotExited is the exit status of a container that has not ended
// (ContainerExitStatus.INVALID).
const NotExited = -1000

// Container is one container.
type Container struct {
	ID          yarn.ContainerID
	User        string
	State       string // ContainerState as the web services spell it: LOCALIZING, RUNNING, DONE, …
	Exit        int32  // NotExited until it has ended
	Diagnostics string
	Resource    yarn.Resource
	Execution   yarn.ExecutionType
}

// Running tells whether the container's log files still grow.
func (c Container) Running() bool { return c.State == "RUNNING" }

// LogFile is a file in a container's log directories.
type LogFile struct {
	Name     string
	Size     int64 // bytes
	Modified int64 // milliseconds since 1970
}
