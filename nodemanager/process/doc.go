// Package process reads what the kernel tells about processes: which belong to a container, what memory and processor time
// they use, whether that is more than the container may, and what the whole machine has and uses. Everything is read below
// a Root, so that tests bring a tree of their own; nothing here signals or changes a process.
package process
