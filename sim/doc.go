// Package sim simulates a whole cluster in one goroutine from one seed: the real
// engine and scheduler, with models of nodes, masters, clients, the store and
// the network around them. Time is a number. The same seed shows the same failure
// again.
//
// The models are as unreliable as the real parts: calls and answers get lost, come
// late and are repeated, nodes fall silent, restart without their containers and turn
// unhealthy, masters crash, containers are never started or given back, the
// store fails in every way, and one or two ResourceManagers die after any command,
// pause, are cut off, and go on with what was stored. Clients move and kill applications; administrators refresh queues, and
// label, resize, exclude and drain nodes. When everything has ended, all books must
// be at zero.
package sim
