// Package engine is the lives of a node's containers, of their applications and of what is localized for them. It is pure:
// commands go in, effects come out. Read command.go and effect.go first; a life is a file: container.go (its end is in
// end.go), application.go, resource.go.
//
// Effects leave in order, and whoever carries them out first makes the records durable that stand before them. So a
// container whose acceptance a caller has seen is known to the daemon's next life.
package engine
