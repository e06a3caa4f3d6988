// Package engine is the ResourceManager without its input and output: the
// states of applications, attempts, containers and nodes. It is pure. It takes
// a command and the time, changes its model, and returns effects; it holds no
// lock, starts no goroutine, reads no clock, file or environment, and no result
// depends on the order of a map. Only one goroutine may use it.
//
// Start with two files: command.go lists every way in which the ResourceManager
// can change, effect.go every consequence. transitions.go lists every allowed
// change of state. Each of the other files has one kind of thing or one task.
//
// What must survive a crash leaves the engine as a Save. Whatever depends on it,
// the answer to the caller included, waits in a saving state for the command
// Stored. Saves are confirmed in the order in which they were made.
package engine
