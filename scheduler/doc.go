// Package scheduler decides who gets what. It is pure: values in, values out;
// no lock, goroutine, clock, file, environment or random source, and no map
// order that could reach a decision. Time arrives as an argument.
//
// The facade in this package is all that the engine sees. Behind it are the policies
// (capacity, fifo) and what they share (core): the tree of queues (queue), nodes and
// containers (cluster), what each attempt still wants (demand) and the rules that find
// the queue of a submission (placement). docs/scheduler.md shows how a decision is made.
package scheduler
