// Package cgroup has the kernel keep containers' limits of memory and of processor time: each container runs in a control
// group of its own, version 2. A Tree is the group that a node's containers are in, a Group one container's. What a
// container may use is decided elsewhere; so is when it starts, which it does inside of its group.
//
// Limits are what Apache's NodeManager sets with cgroup version 2 (its LinuxContainerExecutor): memory.max, memory.low,
// cpu.weight and, in strict mode, cpu.max. In addition memory is not swapped out: a container that may swap has no limit.
//
// Nothing outside of the tree is touched, but that the groups above it hand the controllers on (cgroup.subtree_control).
// One daemon at a time has the tree, so that none takes the containers of another for leftovers.
package cgroup
