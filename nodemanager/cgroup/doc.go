// Package cgroup sets the kernel's limits of memory and processor time for containers. Each container runs in its own control
// group (version 2). A Tree is the parent group of a node's containers, a Group that of one container. What a container may
// use, and when it starts in its group, is decided elsewhere.
//
// Limits are what Apache's NodeManager sets with cgroup version 2 (its LinuxContainerExecutor): memory.max, memory.low,
// cpu.weight and, in strict mode, cpu.max. In addition memory is not swapped out: a container that may swap has no limit.
//
// Nothing outside of the tree is touched, but that the groups above it hand the controllers on (cgroup.subtree_control).
// One daemon at a time has the tree, so that none takes the containers of another for leftovers.
package cgroup
