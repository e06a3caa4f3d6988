// Package sim plays a whole cluster in one goroutine from one seed: the real
// engine and scheduler, with models of nodes, masters, clients, the store and
// the network around them. Time is a number. Whatever goes wrong is found again
// by the seed.
//
// The models are as unreliable as the real ones: answers get lost and calls are
// repeated, nodes fall silent, restart without their containers and turn
// unhealthy, masters crash, containers are never started or given back, the
// store takes its time, and the ResourceManager dies and comes back with what was
// stored. Clients and administrators move, refresh, label, resize and exclude. When
// everything has ended, every book must be at zero.
package sim
