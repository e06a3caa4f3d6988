// Package engine is the ResourceManager without its shell: the lives of
// applications, attempts, containers and nodes. It is pure. It receives
// commands and the time, changes its model through one writer, and answers with
// effects; it holds no lock, starts no goroutine, reads no clock, file or
// environment, and lets no map order reach an outcome.
//
// Two pages are the architecture: command.go lists every way in which the
// ResourceManager can change, effect.go every consequence. transitions.go lists
// every step that a life may take. The other files hold one life or one duty
// each.
//
// What must survive a crash goes out as a Save; the engine then waits, in a
// saving state, for the command Stored before it goes on and before it releases
// the answer. Saves are confirmed in the order in which they were made.
package engine
