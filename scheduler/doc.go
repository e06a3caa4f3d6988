// Package scheduler decides who gets what. It is pure: values in, values out;
// no lock, goroutine, clock, file, environment or random source, and no map
// order that could reach a decision. Time arrives as an argument.
//
// The facade in this package is all that the engine sees. Behind it lie the
// queue tree (queue), the nodes' books (cluster), what each application still
// wants (demand), the checks that return reasons (fit), the mapping of
// applications to queues (placement) and the policies (capacity).
package scheduler
